import { basename } from 'node:path'
import { ControllerService, NodeService } from '@csi-sidecars/csi-proto'
import { type CsiDriver, DEFAULT_SETTINGS, type DriverSettings, startCsiDriver, Volumes } from '@csi-sidecars/emulator'
import { controllerEffects } from './controller.ts'
import { type Machine, thisMachine } from './machine.ts'
import { nodeEffects } from './node.ts'
import { Storage } from './storage.ts'

/** The identity of a directory driver, and the folder that keeps its volumes and records. */
export interface DirectoryDriverOptions {
  readonly name: string
  readonly nodeId: string
  readonly socket: string
  readonly stateFolder: string
  /** Returns a new ID, which begins with the prefix. Later IDs sort after earlier IDs. */
  readonly newId: (prefix: string) => string
  /** Default: the mounts and loop devices of this machine. */
  readonly machine?: Machine
  /** Gets a line when a call arrives and when it ends, in the format of csi-driver-host-path. */
  readonly log?: (line: string) => void
}

/** The driver promises this much. Directories and sparse files take only the space of their content. */
const CAPACITY_BYTES = 1024n ** 4n

const COPIES = ['CREATE_DELETE_SNAPSHOT', 'LIST_SNAPSHOTS', 'GET_SNAPSHOT', 'CLONE_VOLUME'] as const

/** Changes the storage or the mounts to match the answer of the emulator. May return another answer. */
type Effect = (request: never, response: never) => Promise<unknown>

/**
 * Starts a CSI driver whose volumes are directories and loop devices of one node. The emulator decides about each call,
 * and effects change the folder and the mounts.
 *
 * Guarantees: calls run one after the other. A call whose effect fails changes no record. Volumes, snapshots and their
 * data survive the process.
 */
export async function startDirectoryDriver(options: DirectoryDriverOptions): Promise<CsiDriver> {
  const { socket, stateFolder, newId, machine = thisMachine, log = () => undefined } = options
  const settings = settingsOf(options)
  const volumes = new Volumes(settings, { newId })
  const storage = new Storage(stateFolder, { volumes, machine })
  await storage.open()
  const effects: Readonly<Record<string, Effect>> = { ...controllerEffects(storage), ...nodeEffects(storage) }
  let last: Promise<unknown> = Promise.resolve()
  const prepare = (driver: CsiDriver): void => {
    for (const { path } of Object.values({ ...ControllerService, ...NodeService })) {
      const method = basename(path)
      const answer = async (request: object): Promise<object> => {
        await storage.read()
        const response = driver.usualAnswer(method, request)
        return ((await effects[method]?.(request as never, response as never)) ?? response) as object
      }
      driver.script(method, (request: object) => {
        logStart(path, request, log)
        const answered = last.then(() => answer(request)).finally(() => logEnd(path, request, log))
        last = answered.catch(() => undefined)
        return answered
      })
    }
  }
  return await startCsiDriver({ ...settings, socket, volumes, prepare })
}

function settingsOf({ name, nodeId }: DirectoryDriverOptions): DriverSettings {
  const topology = { [`topology.${name}/node`]: nodeId }
  return {
    ...DEFAULT_SETTINGS,
    name,
    nodeId,
    nodes: [nodeId],
    topology,
    pools: [{ segments: topology, bytes: CAPACITY_BYTES }],
    plugin: ['CONTROLLER_SERVICE', 'VOLUME_ACCESSIBILITY_CONSTRAINTS'],
    controller: [...DEFAULT_SETTINGS.controller, ...COPIES],
    // Those of Kubernetes' storage tests and of our own tests.
    mutableParameters: ['e2eVacTest', 'tier'],
  }
}

type Log = (line: string) => void

function logStart(method: string, request: object, log: Log): void {
  log(`GRPC call: ${method}`)
  log(`GRPC request: ${JSON.stringify(objectOf(request))}`)
}

function logEnd(method: string, request: object, log: Log): void {
  log(`gRPCCall: ${JSON.stringify({ Method: method, Request: objectOf(request) })}`)
}

/** Returns what the request is about, without secrets. */
function objectOf(request: {
  readonly volumeId?: string
  readonly snapshotId?: string
  readonly name?: string
}): object {
  return { volume_id: request.volumeId, snapshot_id: request.snapshotId, name: request.name }
}
