"""hws.nnunet's trainer inside nnU-Net v2.1 on two processes that train together (DistributedDataParallel, gloo).

usage: nnunet_ranks.py SCRATCH

SCRATCH is that of nnunet_peer.py. nnU-Net starts such processes for GPUs alone; here each is started by hand and its trainer is
told to stay on the CPU. All else (batches divided among ranks, DistributedDataParallel, gathered losses, barriers) is nnU-Net's.
"""
import json
import os
import subprocess
import sys
from collections import Counter
from pathlib import Path

from nnunet_clones import leave, said, set_folders
from nnunet_peer import ITERATIONS, short

HERE = Path(__file__).resolve()
RANKS, EPOCHS, PATIENCE = 2, 2, 3600
TRAINER = "nnUNetTrainerHWS_warmup0_momentum0"


def step_rank(rank, meeting, report):
    import torch

    torch.set_num_threads(1)
    torch.distributed.init_process_group("gloo", init_method=f"file://{meeting}", rank=int(rank), world_size=RANKS)
    module = short(EPOCHS)
    wrapper = module.DDP
    module.DDP = lambda network, device_ids: wrapper(network)
    from hws import nnunet
    from nnunetv2.training.nnUNetTrainer.nnUNetTrainer import nnUNetTrainer
    from nnunetv2.utilities.file_path_utilities import maybe_convert_to_dataset_name

    data = Path(os.environ["nnUNet_preprocessed"]) / maybe_convert_to_dataset_name(4)
    plans, dataset = (json.loads((data / name).read_text()) for name in ("nnUNetPlans.json", "dataset.json"))
    assert issubclass(getattr(nnunet, TRAINER), nnUNetTrainer)
    trainer = getattr(nnunet, TRAINER)(plans, "3d_fullres", 0, dataset)
    trainer.device, trainer.grad_scaler = torch.device("cpu"), None
    steps, step = [], trainer.train_step

    def recorded(batch):
        result = step(batch)
        steps.append([[str(key) for key in batch["keys"]], trainer.loss.robust.last_losses.tolist()])
        return result

    trainer.train_step = recorded
    trainer.run_training()
    weights = torch.cat([value.flatten() for value in trainer.network.parameters()])
    Path(report).write_text(json.dumps({
        "steps": steps, "cases": [str(name) for name in trainer.hws_cases], "losses": trainer.hws_shared.losses().tolist(),
        "state": trainer.hws_shared.to_bytes().hex(), "visits": trainer._hws_learner.visits.tolist(),
        "weights": [float(weights.double().sum()), float(weights.double().square().sum())]}))
    leave()  # not by the usual way: the destructor of gloo's group in PyTorch 1.13 may wait for ever


def check(reports):
    first, second = reports
    assert first["state"] == second["state"] and first["visits"] == second["visits"] and first["weights"] == second["weights"]
    assert [keys for keys, _ in first["steps"]] != [keys for keys, _ in second["steps"]], "both ranks drew the same"
    counts, last, unclear = Counter(), {}, set()
    for parts in zip(first["steps"], second["steps"]):
        drawn = [key for keys, _ in parts for key in keys]
        counts.update(drawn)
        for keys, losses in parts:
            for key, loss in zip(keys, losses):
                last[key] = loss
                (unclear.add if drawn.count(key) > 1 else unclear.discard)(key)
    assert len(first["steps"]) == len(second["steps"]) == EPOCHS * ITERATIONS
    assert [counts[case] for case in first["cases"]] == first["visits"]
    clear = [case for case in first["cases"] if case in last and case not in unclear]
    for case, loss in zip(first["cases"], first["losses"]):
        assert case not in clear or loss == last[case], (case, loss, last[case])
    said(f"two ranks: {sum(counts.values())} cases drawn, the same history and weights on both; the losses of {len(clear)} cases "
         "are those of the rank that saw them last")


def main():
    scratch = Path(sys.argv[1]).resolve() / "nnunet"
    set_folders(scratch, scratch / "packages")
    environment = {**os.environ, "GLOO_SOCKET_IFNAME": "lo", "nnUNet_results": str(scratch / "results-ranks"),
                   "nnUNet_n_proc_DA": "1"}
    meeting = scratch / "meeting"
    reports = [scratch / f"rank{rank}.json" for rank in range(RANKS)]
    ranks = [subprocess.Popen([sys.executable, HERE, "--step", "rank", str(rank), meeting, report], env=environment)
             for rank, report in enumerate(reports)]
    try:
        codes = [rank.wait(PATIENCE) for rank in ranks]
    finally:
        for rank in ranks:
            rank.kill()
    assert codes == [0] * RANKS, codes
    check([json.loads(report.read_text()) for report in reports])
    folder = scratch / "results-ranks" / "Dataset004_Test" / f"{TRAINER}__nnUNetPlans__3d_fullres" / "fold_0"
    assert (folder / "checkpoint_final.pth").is_file() and (folder / "hardest_cases.csv").is_file()


if __name__ == "__main__":
    if sys.argv[1:2] == ["--step"]:
        globals()[f"step_{sys.argv[2]}"](*sys.argv[3:])
    else:
        main()
