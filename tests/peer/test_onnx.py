"""hws export --onnx: ONNX's checker accepts the models, and onnxruntime gives our logits. usage: test_onnx.py HWS PEER_ONNX

onnxruntime comes from npm (onnxruntime-node), in a folder that HWS_ONNXRUNTIME names: npm install --prefix FOLDER
--ignore-scripts onnxruntime-node. Without it (or without node or python3-onnx) the test is skipped."""
import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

SKIPPED = 77
runtime = Path(os.environ.get("HWS_ONNXRUNTIME", "")) / "node_modules"
try:
    import numpy as np
    import onnx
except ImportError as missing:
    print(f"skipped: {missing}")
    sys.exit(SKIPPED)
if not shutil.which("node") or not (runtime / "onnxruntime-node").is_dir():
    print("skipped: HWS_ONNXRUNTIME names no folder with onnxruntime-node (see the beginning of this file)")
    sys.exit(SKIPPED)

program, peer = sys.argv[1:]
workspace = tempfile.TemporaryDirectory()
folder = Path(workspace.name)

PREDICT = """
const ort = require('onnxruntime-node'), fs = require('fs');
const [model, shape, input, output] = process.argv.slice(2);
(async () => {
  const session = await ort.InferenceSession.create(model, {logSeverityLevel: 3});
  const bytes = fs.readFileSync(input);
  const values = new Float32Array(bytes.buffer, bytes.byteOffset, bytes.length / 4);
  const tensor = new ort.Tensor('float32', values, JSON.parse(shape));
  const logits = (await session.run({[session.inputNames[0]]: tensor})).logits;
  fs.writeFileSync(output, Buffer.from(logits.data.buffer, logits.data.byteOffset, logits.data.byteLength));
})();
"""


def run(*words, **more):
    return subprocess.run([str(word) for word in words], check=True, stdout=subprocess.PIPE, **more).stdout


def train(name, data, *options):
    run(program, "train", data, "--epochs", 1, "--threads", 2, "--quiet", "--out", folder / name, *options)
    run(program, "export", folder / name, "--onnx", folder / f"{name}.onnx")
    model = onnx.load(str(folder / f"{name}.onnx"))
    onnx.checker.check_model(model, full_check=True)
    return model


def sizes(value):
    return [axis.dim_value for axis in value.type.tensor_type.shape.dim]


def compare(name, model, inputs):
    """Logits for inputs [sample][channel][...], as many as there are."""
    inputs = np.ascontiguousarray(inputs, dtype=np.float32)
    assert list(inputs.shape[1:]) == sizes(model.graph.input[0])[1:]
    ours = np.frombuffer(run(peer, folder / name, len(inputs), input=inputs.tobytes()), dtype=np.float32)
    (folder / "input").write_bytes(inputs.tobytes())
    run("node", "-e", PREDICT, "predict", folder / f"{name}.onnx", json.dumps(inputs.shape), folder / "input", folder / "output",
        env=dict(os.environ, NODE_PATH=str(runtime)))
    theirs = np.fromfile(folder / "output", dtype=np.float32)
    assert theirs.size == len(inputs) * int(np.prod(sizes(model.graph.output[0])[1:])) == ours.size
    worst = abs(ours - theirs).max()
    print(f"{name}: {len(inputs)} x {sizes(model.graph.input[0])[1:]}, logits up to {abs(ours).max():.2f}, difference at most {worst:.1e}")
    assert abs(ours).max() > 1e-3 and worst <= 1e-4 * max(1, abs(ours).max() / 10)  # f32 has seven digits


def metadata(model):
    return {entry.key: entry.value for entry in model.metadata_props}


random = np.random.default_rng(1)


def random_inputs(model, count):
    return random.standard_normal([count] + sizes(model.graph.input[0])[1:])


# ---- classification: random images, and real ones normalised as the metadata say
from PIL import Image

for index in range(16):
    label = ("dark", "light")[index % 2]
    for part in ("train", "test"):
        place = folder / "pictures" / part / label
        place.mkdir(parents=True, exist_ok=True)
        pixels = random.integers(0, 200, (24, 32, 3)) + (50 if index % 2 else 0)
        Image.fromarray(pixels.astype(np.uint8)).save(place / f"{index}.png")

for network in ("mlp-1-32", "wrn-10-1", "resnet-18", "resnet-50"):
    model = train(network, folder / "pictures", "--model", network, "--batch", 8)
    facts = metadata(model)
    assert facts["task"] == "classification" and json.loads(facts["labels"]) == ["dark", "light"]
    size = json.loads(facts["size"])
    assert sizes(model.graph.input[0])[1:] == [3, *size]
    pictures = [np.asarray(Image.open(path), dtype=np.float64) for path in sorted((folder / "pictures/test").glob("*/*.png"))[:3]]
    assert size == [24, 32]
    real = (np.stack(pictures).transpose(0, 3, 1, 2) / 255 - json.loads(facts["pixel_mean"])[0]) / json.loads(facts["pixel_std"])[0]
    compare(network, model, real)
    compare(network, model, random_inputs(model, 5))

rows = ["x,y,word,label"] + [f"{k % 7},{k * k % 11},{'ab'[k % 2]},{'no' if k % 7 > 3 else 'yes'}" for k in range(80)]
(folder / "table.csv").write_text("\n".join(rows) + "\n")
model = train("table", folder / "table.csv", "--model", "mlp-1-16", "--batch", 8)
assert model.graph.input[0].name == "features" and sizes(model.graph.input[0])[1:] == [4]
compare("table", model, random_inputs(model, 3))

# ---- segmentation: random patches, and one of a real volume
run(program, "phantom", "--out", folder / "heads", "--cases", 6, "--size", "24,32,24", "--spacing", 5)
import nibabel

for network in ("unet", "unet-2d", "resenc-m", "resenc-m-2d"):
    model = train(network, folder / "heads", "--cache", folder / f"cache-{network}", "--model", network, "--fold", -1,
                  "--epoch-length", 4, "--batch", 2, "--optimizer", "adam", "--lr", 0.003)
    facts = metadata(model)
    patch, inputs = json.loads(facts["patch"]), sizes(model.graph.input[0])[1:]
    assert facts["task"] == "segmentation" and facts["output"] == "softmax" and len(json.loads(facts["spacing"])) == 3
    assert inputs[1:] == [edge for edge in patch if edge > 1] and len(inputs) == (3 if "2d" in network else 4)
    compare(network, model, random_inputs(model, 2))
    image = np.asarray(nibabel.load(sorted((folder / "heads/imagesTr").glob("*"))[0]).dataobj, dtype=np.float64).T
    image = (image - image.mean()) / image.std()
    padded = np.pad(image, [(0, max(0, edge - size)) for edge, size in zip(patch, image.shape)])
    corner = padded[: patch[0], : patch[1], : patch[2]]
    compare(network, model, corner.reshape([1] + inputs))

# ---- the example of docs/onnx.md labels volumes as hws predict does
example = Path(__file__).resolve().parents[2] / "examples" / "segment_onnx.mjs"
assert subprocess.run(["node", example], stderr=subprocess.DEVNULL).returncode == 2
for network in ("unet", "resenc-m-2d"):
    image = sorted((folder / "heads/imagesTr").glob("*"))[0]
    run("node", example, folder / f"{network}.onnx", folder / "labels.nii", image, cwd=runtime.parent)
    run(program, "predict", folder / network, "--input", image, "--output", folder / f"{network}-labels", "--no-mirror", "--quiet")
    theirs = np.asarray(nibabel.load(folder / "labels.nii").dataobj)
    ours = np.asarray(nibabel.load(next((folder / f"{network}-labels").glob("*.nii.gz"))).dataobj)
    print(f"example, {network}: {(ours != theirs).sum()} of {ours.size} labels differ, {(ours > 0).sum()} are foreground")
    assert ours.shape == theirs.shape and (ours != theirs).mean() <= 1e-3 and (ours > 0).any()

# ---- regions
(folder / "regions").mkdir()
for part in ("imagesTr", "labelsTr"):
    shutil.copytree(folder / "heads" / part, folder / "regions" / part)
described = json.loads((folder / "heads/dataset.json").read_text())
described["labels"] = {"background": 0, "all": [1, 2, 3], "some": [2, 3], "one": [3]}
described["regions_class_order"] = [1, 2, 3]
(folder / "regions/dataset.json").write_text(json.dumps(described))
model = train("regions", folder / "regions", "--cache", folder / "cache-regions", "--fold", -1, "--epoch-length", 4, "--batch", 2)
facts = metadata(model)
assert facts["output"] == "sigmoid" and json.loads(facts["labels"]) == ["all", "some", "one"] and json.loads(facts["values"]) == [1, 2, 3]
compare("regions", model, random_inputs(model, 2))
