import { parentPort, workerData } from 'node:worker_threads'
import { systemClock } from '@csi-sidecars/base'
import { fuzz } from './fuzz.ts'
import { Random } from './random.ts'
import { READERS } from './readers.ts'
import { showInput, type WorkerTask } from './shared-input.ts'

const { reader: name, corpus, ms, seed, guided, shared } = workerData as WorkerTask
const reader = READERS.find((each) => each.name === name)
if (reader === undefined) throw new RangeError(`no reader ${name}`)
parentPort?.postMessage(
  fuzz(reader, {
    corpus: corpus.map((input) => Buffer.from(input)),
    ms,
    clock: systemClock,
    random: new Random(seed),
    guided,
    onInput: (input) => showInput(shared, input),
  }),
)
