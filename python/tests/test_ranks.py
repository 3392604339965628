"""Two ranks that train together: whatever each of them receives, both learn the same and know the same to be under way."""
import hashlib

import pytest
import torch
from torch import nn
from two_ranks import join_ranks, leave_ranks, refused, results_of_two_ranks

from hws.torch import DROLoss, HardnessWeightedBatchSampler, HardnessWeightedSampler, of_all_ranks

# Few examples and a high beta: what is drawn ahead has much in common with the batch that comes back.
STEPS, AHEAD = 60, 4


def loss_of(examples):
    return [example / 3 for example in examples]


def single_draws(ranks, crops, passes):
    """Batches of four draws over all ranks, AHEAD of them drawn before their turn."""
    sampler = HardnessWeightedSampler(6, num_samples=4 * (STEPS + AHEAD), beta=3.0, seed=3)
    draws, size = iter(sampler), 4 // ranks
    ahead = [next(draws) for _ in range(AHEAD * size)]
    for _ in range(STEPS):
        batch = [example for example in ahead[:size] for _ in range(crops)]
        for _ in range(passes):
            sampler.update(batch, loss_of(batch))
        ahead = ahead[size:] + [next(draws) for _ in range(size)]
    return sampler, ahead


def batches(ranks, cut, crops_of, passes=1):
    """Batches of four in micro-batches of ``cut`` cases over all ranks, with as many crops of a case as crops_of says."""
    sampler = HardnessWeightedBatchSampler(12, 4, batches_per_epoch=STEPS + AHEAD, beta=3.0, seed=3)
    draws, size = iter(sampler), cut // ranks
    ahead = [next(draws) for _ in range(AHEAD)]
    for _ in range(STEPS):
        for _ in range(passes):
            for start in range(0, len(ahead[0]), size):
                piece = [example for example in ahead[0][start:start + size] for _ in range(crops_of(example))]
                sampler.update(piece, loss_of(piece))
        ahead = ahead[1:] + [next(draws)]
    return sampler, ahead


LOOPS = {
    "crops of single draws": lambda ranks: single_draws(ranks, crops=2, passes=1),
    "two passes over single draws": lambda ranks: single_draws(ranks, crops=1, passes=2),
    "two passes over crops of single draws": lambda ranks: single_draws(ranks, crops=2, passes=2),
    "two passes over batches": lambda ranks: batches(ranks, 4, lambda example: 1, passes=2),
    "crops in micro-batches": lambda ranks: batches(ranks, 2, lambda example: 2),
    "two passes in micro-batches": lambda ranks: batches(ranks, 2, lambda example: 1, passes=2),
    "one to three crops": lambda ranks: batches(ranks, 4, lambda example: 1 + example % 3),
}


def told(sampler, ahead):
    """What is the same on all ranks and in a single process, and whether what is under way is known."""
    state = sampler.state_dict()
    known = state["pending"][:, sampler.rank::sampler.num_replicas].reshape(-1).tolist()
    expected = [example for piece in ahead for example in (piece if isinstance(piece, list) else [piece])]
    everything = state["sampler"].numpy().tobytes() + state["pending"].numpy().tobytes()
    return known == expected, state["handed"], state["habits"], hashlib.sha256(everything).hexdigest()


def train(rank, ranks, port, results):
    join_ranks(rank, ranks, port)
    results.put((rank, {name: told(*loop(ranks)) for name, loop in LOOPS.items()}))
    leave_ranks(results)


@pytest.fixture(scope="module")
def ranks():
    return results_of_two_ranks(train)


@pytest.mark.parametrize("name", LOOPS)
def test_two_ranks_know_what_one_process_would(name, ranks):
    first, second = ranks[0][0][name], ranks[1][0][name]
    alone = told(*LOOPS[name](1))
    assert alone[0] and alone[1] == (STEPS * 4 if "single" in name else STEPS)
    if "single" in name:  # counted in draws of one example for each rank, and so saved
        assert first[1] == STEPS * 2
        alone = (*alone[:1], STEPS * 2, *alone[2:])
    assert first == second == alone


def refuse(rank, ranks, port, results):
    """Rank 1 makes a mistake, of each kind that is noticed before the ranks tell each other anything."""
    join_ranks(rank, ranks, port)
    sampler = HardnessWeightedBatchSampler(12, 4, seed=3)
    batch = next(iter(sampler))
    before = sampler.sampler.to_bytes()
    criterion = DROLoss(nn.MSELoss(), sampler)
    count = 3 if rank else 2
    mistakes = [
        refused(lambda: sampler.update(batch, [1.0] * count)),
        refused(lambda: sampler.update(["one", "two"] if rank else batch, [1.0, 1.0])),
        refused(lambda: of_all_ranks(batch, [1.0] * count)),
        refused(lambda: criterion(torch.ones(count), torch.zeros(count), batch)),
    ]
    unchanged = sampler.sampler.to_bytes() == before
    indices, losses = of_all_ranks(range(rank, 3), loss_of(range(rank, 3)))  # of different lengths
    sampler.update(batch, [1.0, 1.0])
    results.put((rank, mistakes, unchanged, (indices.tolist(), losses.tolist()), sampler.sampler.to_bytes()))
    leave_ranks(results)


def test_what_one_rank_refuses_all_refuse():
    ranks = results_of_two_ranks(refuse)
    (others, unchanged, together, state), (own, own_unchanged, own_together, own_state) = ranks[0], ranks[1]
    assert unchanged and own_unchanged and state == own_state
    assert [text.split(":")[0] for text in own] == ["ArgumentError", "ArgumentTypeError", "ArgumentError", "ArgumentError"]
    assert all("rank 1 has refused" in text for text in others) and len(others) == 4
    assert together == own_together and together[0] == [0, 1, 2, 1, 2]
