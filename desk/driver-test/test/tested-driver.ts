// Runs the emulated CSI driver as a separate process:
//   node tested-driver.ts --socket PATH --state FILE [--node PATH...] [--holds FOLDER] [--bug NAME]
// FILE stores the volumes, so that they survive a kill of the driver. The first two nodes are in one zone, and all
// other nodes are in another zone. FOLDER stores snapshots and, if the driver runs as root, the content of volumes.
import { existsSync, readFileSync, renameSync } from 'node:fs'
import { parseArgs } from 'node:util'
import { deserialize, serialize } from 'node:v8'
import { type CsiDriver, startCsiDriver } from '@csi-sidecars/emulator'
import { writeWhole } from '../src/testing/whole-file.ts'
import { BUGS, hold } from './driver-bugs.ts'

const { values } = parseArgs({
  options: {
    socket: { type: 'string', default: '' },
    state: { type: 'string', default: '' },
    node: { type: 'string', multiple: true, default: [] },
    holds: { type: 'string' },
    bug: { type: 'string' },
  },
})
const { socket, state, node: nodeSockets, holds, bug } = values

type Stored = CsiDriver['volumes']['all'][number]

const driver = await startDriver()
let highest = restore(driver)
saveAfterCalls(driver)
const nodes = await Promise.all(nodeSockets.map((each, index) => startNode(each, index)))
if (holds !== undefined) hold({ controller: driver, nodes }, holds, bug)
if (bug !== undefined) {
  const planted = BUGS[bug]
  if (planted === undefined) throw new Error(`no bug is called ${bug}`)
  planted.plant({ controller: driver, nodes })
}
for (const path of [...nodeSockets, socket]) renameSync(unready(path), path)
for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.once(
    signal,
    () => void Promise.all([driver, ...nodes].map((each) => each.stop())).then(() => process.exit(0)),
  )
}

/**
 * Returns a temporary socket path. The driver renames the socket after it has restored its state, so that no client
 * connects earlier.
 */
function unready(path: string): string {
  return `${path}.new`
}

/** Saves the volumes after each call, before the driver sends its answer. */
function saveAfterCalls({ log }: CsiDriver): void {
  log.subscribe(({ end }) => {
    if (end !== undefined) save(driver)
  })
}

async function startDriver(): Promise<CsiDriver> {
  const usual = await startCsiDriver({ socket: unready(socket) })
  usual.settings.controller = [...usual.settings.controller, 'CLONE_VOLUME']
  usual.settings.mutableParameters = ['tier']
  usual.settings.nodes = nodeSockets.length > 0 ? nodeSockets.map((_, index) => `worker-${index + 1}`) : ['a', 'b']
  if (nodeSockets.length > 0) {
    usual.settings.plugin = [...usual.settings.plugin, 'VOLUME_ACCESSIBILITY_CONSTRAINTS']
  }
  return usual
}

async function startNode(path: string, index: number): Promise<CsiDriver> {
  const topology = { zone: index < 2 ? 'east' : 'west' }
  const nodeId = `worker-${index + 1}`
  const node = await startCsiDriver({
    socket: unready(path),
    nodeId,
    topology,
    makesTargets: true,
    volumes: driver.volumes,
  })
  saveAfterCalls(node)
  return node
}

interface Saved {
  /** The highest number used in a volume ID. New volumes get higher numbers. */
  readonly highest: number
  readonly volumes: readonly Stored[]
}

function save({ volumes }: CsiDriver): void {
  highest = Math.max(highest, ...volumes.all.map(({ id }) => Number(/^vol-(\d+)$/.exec(id)?.[1] ?? 0)))
  const saved: Saved = { highest, volumes: volumes.all }
  writeWhole(state, serialize(saved))
}

/** Restores the volumes from the file. Returns the highest number in a volume ID. */
function restore({ volumes }: CsiDriver): number {
  if (!existsSync(state)) return 0
  const saved = deserialize(readFileSync(state)) as Saved
  for (let spent = saved.volumes.length; spent < saved.highest; spent += 1) {
    volumes.delete(volumes.add({ name: 'spent', capacityBytes: 0n }).id)
  }
  for (const volume of saved.volumes) volumes.add(volume)
  return saved.highest
}
