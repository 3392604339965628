// Segments a volume in JavaScript with a network of `hws export RUN --onnx MODEL.onnx`, as hws predict --no-mirror does.
//
//     npm install onnxruntime-node
//     node segment_onnx.mjs MODEL.onnx OUT.nii IMAGE.nii.gz [one file for each further channel]
//
// It crops to what is not empty, normalises, slides a window and averages with Gaussian weights, all by the model's metadata.
// Images must have the model's spacing: it does not resample. Holes in the mask of what is not empty are not filled.
import { createRequire } from 'node:module';
import fs from 'node:fs';
import zlib from 'node:zlib';
const [model, output, ...files] = process.argv.slice(2);
if (files.length === 0) {
  console.error('usage: node segment_onnx.mjs MODEL.onnx OUT.nii IMAGE.nii.gz [one file for each further channel]');
  process.exit(2);
}
const ort = createRequire(process.cwd() + '/')('onnxruntime-node'); // beside where it is called, or in NODE_PATH

// ---- the model's metadata: the fields 14 of the file's Protocol Buffers, each a key (1) and a value (2)
function* fields(bytes) {
  let at = 0;
  const varint = () => {
    let value = 0, scale = 1;
    for (;; scale *= 128) {
      value += (bytes[at] & 127) * scale;
      if (bytes[at++] < 128) return value;
    }
  };
  while (at < bytes.length) {
    const tag = varint(), kind = tag & 7;
    if (kind === 0) varint();
    const size = kind === 2 ? varint() : kind === 5 ? 4 : kind === 1 ? 8 : 0;
    yield [tag >>> 3, bytes.subarray(at, at + size)];
    at += size;
  }
}

function metadata(file) {
  const found = {};
  for (const [number, entry] of fields(fs.readFileSync(file)))
    if (number === 14) {
      const pair = Object.fromEntries(fields(entry));
      found[Buffer.from(pair[1]).toString()] = Buffer.from(pair[2]).toString();
    }
  for (const key of ['labels', 'values', 'spacing', 'patch', 'channels']) found[key] = JSON.parse(found[key]);
  return found;
}

// ---- NIfTI-1: sizes and spacings slowest axis first
const TYPES = { 2: [1, 'readUInt8'], 4: [2, 'readInt16LE'], 8: [4, 'readInt32LE'], 16: [4, 'readFloatLE'], 64: [8, 'readDoubleLE'], 512: [2, 'readUInt16LE'] };

function readNifti(path) {
  let bytes = fs.readFileSync(path);
  if (bytes[0] === 0x1f && bytes[1] === 0x8b) bytes = zlib.gunzipSync(bytes);
  if (bytes.readInt32LE(0) !== 348 || !TYPES[bytes.readInt16LE(70)]) throw new Error(`${path}: not a NIfTI-1 file that this example reads`);
  const [width, read] = TYPES[bytes.readInt16LE(70)], start = bytes.readFloatLE(108);
  const size = [3, 2, 1].map((k) => bytes.readInt16LE(40 + 2 * k)), spacing = [3, 2, 1].map((k) => bytes.readFloatLE(76 + 4 * k));
  const slope = bytes.readFloatLE(112) || 1, shift = bytes.readFloatLE(112) ? bytes.readFloatLE(116) : 0;
  const voxels = Float32Array.from({ length: size[0] * size[1] * size[2] }, (_, k) => slope * bytes[read](start + k * width) + shift);
  return { header: bytes.subarray(0, 352), size, spacing, voxels };
}

function writeLabels(path, like, labels) {
  const header = Buffer.from(like.header);
  header.writeInt16LE(512, 70); // unsigned 16 bits
  header.writeInt16LE(16, 72);
  header.writeFloatLE(352, 108);
  header.writeFloatLE(1, 112);
  header.writeFloatLE(0, 116);
  header.fill(0, 348);
  fs.writeFileSync(path, Buffer.concat([header, Buffer.from(labels.buffer)]));
}

// ---- what the network sees
function box(images, size) {
  const low = [...size], high = [-1, -1, -1];
  for (let k = 0; k < images[0].voxels.length; k++) {
    if (images.every((image) => image.voxels[k] === 0)) continue;
    const at = [Math.floor(k / (size[1] * size[2])), Math.floor(k / size[2]) % size[1], k % size[2]];
    at.forEach((place, axis) => { low[axis] = Math.min(low[axis], place); high[axis] = Math.max(high[axis], place); });
  }
  if (high[0] < 0) return { first: [0, 0, 0], size };
  return { first: low, size: low.map((first, axis) => high[axis] - first + 1) };
}

function crop(voxels, size, { first, size: inside }) {
  return Float32Array.from({ length: inside[0] * inside[1] * inside[2] }, (_, k) => {
    const z = Math.floor(k / (inside[1] * inside[2])), y = Math.floor(k / inside[2]) % inside[1], x = k % inside[2];
    return voxels[((z + first[0]) * size[1] + y + first[1]) * size[2] + x + first[2]];
  });
}

function normalise(voxels, rule) {
  if (rule.normalisation === 'none') return voxels;
  if (rule.normalisation === 'rgb') return voxels.map((v) => v / 255);
  if (rule.normalisation === 'ct')
    return voxels.map((v) => (Math.min(Math.max(v, rule.low), rule.high) - rule.mean) / Math.max(rule.deviation, 1e-8));
  const used = rule.masked ? voxels.filter((v) => v !== 0) : voxels;
  if (rule.normalisation === 'rescale') {
    const low = voxels.reduce((a, b) => Math.min(a, b)), high = voxels.reduce((a, b) => Math.max(a, b));
    return voxels.map((v) => (v - low) / Math.max(high - low, 1e-8));
  }
  const mean = used.reduce((a, b) => a + b, 0) / used.length;
  const deviation = Math.max(Math.sqrt(used.reduce((a, b) => a + (b - mean) ** 2, 0) / used.length), 1e-8);
  return voxels.map((v) => (rule.masked && v === 0 ? 0 : (v - mean) / deviation));
}

// ---- windows
function starts(size, patch) {
  if (size <= patch) return [0];
  const count = Math.ceil((size - patch) / Math.max(patch / 2, 1)) + 1;
  return Array.from({ length: count }, (_, k) => Math.round((k * (size - patch)) / (count - 1)));
}
const gaussian = (edge) => Array.from({ length: edge }, (_, k) => Math.exp(-0.5 * ((k - Math.floor(edge / 2)) / (edge / 8)) ** 2));

async function segment(session, facts, channels, size) {
  const { patch } = facts, outputs = facts.values.length, patchVoxels = patch[0] * patch[1] * patch[2];
  const offset = size.map((edge, axis) => Math.floor((Math.max(edge, patch[axis]) - edge) / 2));
  const begin = size.map((edge, axis) => starts(Math.max(edge, patch[axis]), patch[axis]));
  const weights = patch.map(gaussian), scores = new Float32Array(outputs * channels[0].length);
  for (const z of begin[0]) for (const y of begin[1]) for (const x of begin[2]) {
    const where = new Int32Array(patchVoxels), weight = new Float32Array(patchVoxels);
    for (let k = 0; k < patchVoxels; k++) {
      const i = [Math.floor(k / (patch[1] * patch[2])), Math.floor(k / patch[2]) % patch[1], k % patch[2]];
      const at = [z, y, x].map((start, axis) => start + i[axis] - offset[axis]);
      where[k] = at.some((place, axis) => place < 0 || place >= size[axis]) ? -1 : (at[0] * size[1] + at[1]) * size[2] + at[2];
      weight[k] = weights[0][i[0]] * weights[1][i[1]] * weights[2][i[2]];
    }
    const input = new Float32Array(channels.length * patchVoxels);
    channels.forEach((voxels, c) => where.forEach((from, k) => { if (from >= 0) input[c * patchVoxels + k] = voxels[from]; }));
    const shape = [1, channels.length, ...patch.filter((edge) => edge > 1)]; // networks for slices have two axes
    const { logits } = await session.run({ patch: new ort.Tensor('float32', input, shape) });
    for (let c = 0; c < outputs; c++)
      where.forEach((to, k) => { if (to >= 0) scores[c * channels[0].length + to] += weight[k] * logits.data[c * patchVoxels + k]; });
  }
  return scores; // sums of weighted logits: where the largest is, or which are above 0, needs no division
}

function decide(scores, facts, voxels) {
  return Uint16Array.from({ length: voxels }, (_, v) => {
    let label = 0, best = -Infinity;
    facts.values.forEach((value, c) => {
      const score = scores[c * voxels + v];
      if (facts.output === 'sigmoid' ? score > 0 : score > best) { label = value; best = score; }
    });
    return label;
  });
}

const facts = metadata(model), images = files.map(readNifti), { size, spacing } = images[0];
if (files.length !== facts.channels.length) throw new Error(`the model wants ${facts.channels.length} channels, a file for each`);
images.forEach((image, c) => {
  if (image.size.some((edge, axis) => edge !== size[axis]))
    throw new Error(`${files[c]} has ${image.size} voxels, ${files[0]} has ${size}: all channels must be on one grid`);
});
if (facts.patch.every((edge) => edge > 1) && spacing.some((s, axis) => Math.abs(s - facts.spacing[axis]) > 1e-3 * s))
  throw new Error(`resample to ${facts.spacing} mm first (depth, height, width): the image has ${spacing}`);
const kept = box(images, size);
const channels = images.map((image, c) => normalise(crop(image.voxels, size, kept), facts.channels[c]));
const session = await ort.InferenceSession.create(model, { logSeverityLevel: 3 });
const inside = decide(await segment(session, facts, channels, kept.size), facts, channels[0].length);
const labels = new Uint16Array(size[0] * size[1] * size[2]);
inside.forEach((label, k) => {
  const z = Math.floor(k / (kept.size[1] * kept.size[2])), y = Math.floor(k / kept.size[2]) % kept.size[1], x = k % kept.size[2];
  labels[((z + kept.first[0]) * size[1] + y + kept.first[1]) * size[2] + x + kept.first[2]] = label;
});
writeLabels(output, images[0], labels);
