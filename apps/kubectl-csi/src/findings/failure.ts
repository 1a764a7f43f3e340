import type { Sidecar } from '../facts/leases.ts'
import type { RowKey } from './finding.ts'
import { ROWS } from './rows.ts'

/** What the text of a failure says about what is waited for. */
export interface FailureCause {
  readonly reason: string
  readonly waitsFor: string
  readonly advice: RowKey
}

export interface FailureContext {
  readonly sidecar: Sidecar | 'external-provisioner'
  readonly driver: string
  /** The node of an attachment. */
  readonly node?: string | undefined
  readonly deleting?: boolean
}

interface Rule {
  readonly words: RegExp
  readonly only?: Sidecar
  readonly cause: (match: readonly string[], context: FailureContext) => FailureCause
}

/**
 * The texts of both sidecars, ours and the Go originals', in the order in which they are tried. They are part of what
 * both promise to users.
 */
const RULES: readonly Rule[] = [
  {
    words: /CSINode (\S+) does not contain driver (\S+)/,
    cause: ([, node = '', driver = '']) => nodeWithoutDriver(node, driver),
  },
  {
    words: /csinode\.storage\.k8s\.io "([^"]+)" not found/,
    cause: ([, node = ''], { driver }) => nodeWithoutDriver(node, driver),
  },
  {
    words: /persistentvolume "([^"]+)" not found/,
    cause: ([, pv = ''], { deleting }) => volumeMissing(pv, deleting === true),
  },
  {
    words: /PersistentVolume "([^"]+)" is marked for deletion/,
    cause: ([, pv = '']) => ({
      reason: 'VolumeBeingDeleted',
      waitsFor: `PersistentVolume ${pv}, which is being deleted`,
      advice: ROWS.volumeBeingDeleted,
    }),
  },
  { words: /failed to load secret "([^"]+)"/, cause: ([, name = '']) => secretUnreadable(name) },
  {
    words: /error getting secret (\S+) in namespace ([^:\s]+)/,
    cause: ([, name = '', namespace = '']) => secretUnreadable(`${namespace}/${name}`),
  },
  {
    // bounded: one line of an error
    words: /admission webhook "([^"]+)" denied the request(?:: (.*))?/,
    cause: ([, webhook = '', why]) => ({
      reason: 'WebhookDenies',
      waitsFor: `admission webhook ${webhook} to allow it${why === undefined ? '' : `: ${why}`}`,
      advice: ROWS.apiRefuses,
    }),
  },
  {
    words: /exceeded quota: ([^,]+)/,
    cause: ([, quota = '']) => ({
      reason: 'QuotaExceeded',
      waitsFor: `room in ResourceQuota ${quota}`,
      advice: ROWS.apiRefuses,
    }),
  },
  {
    words: /is forbidden: User "([^"]+)" cannot (\S+) resource "([^"]+)"/,
    cause: ([, user = '', verb = '', resource = '']) => ({
      reason: 'Forbidden',
      waitsFor: `a role that lets ${user} ${verb} ${resource}`,
      advice: ROWS.apiRefuses,
    }),
  },
  {
    words: /only supports offline expansion/,
    cause: () => ({
      reason: 'ClaimInUse',
      waitsFor: 'the pods that use the claim to end, because the driver expands only volumes that are not in use',
      advice: ROWS.claimInUse,
    }),
  },
  {
    words: /code = ResourceExhausted/,
    only: 'external-attacher',
    cause: (_, { node = '', driver }) => nodeFullCause(node, driver),
  },
  {
    words: /code = FailedPrecondition/,
    only: 'external-attacher',
    cause: (_, { node, driver, deleting }) => ({
      reason: 'AttachedElsewhere',
      waitsFor:
        deleting === true
          ? `driver ${driver}, which refuses to detach the volume from node ${node}`
          : `the volume to leave the node where ${driver} still has it`,
      advice: deleting === true ? ROWS.detachFails : ROWS.attachedElsewhere,
    }),
  },
  {
    words: /code = (?:DeadlineExceeded|Canceled)/,
    cause: (_, { driver }) => ({
      reason: 'DriverTooSlow',
      waitsFor: `driver ${driver} to answer, which takes longer than the time-out`,
      advice: ROWS.driverTooSlow,
    }),
  },
  {
    words: /code = Unavailable/,
    cause: (_, { driver }) => ({
      reason: 'DriverUnavailable',
      waitsFor: `driver ${driver} to be reachable`,
      advice: ROWS.driverUnavailable,
    }),
  },
  {
    words: /code = (\w+)/,
    cause: ([, code = ''], { driver, sidecar, deleting }) => ({
      reason: 'DriverRefuses',
      waitsFor: `driver ${driver} to do what it has refused with ${code}`,
      advice: sidecar === 'external-resizer' ? ROWS.resizeFailed : deleting ? ROWS.detachFails : ROWS.driverRefuses,
    }),
  },
]

/** What a failure waits for, by its text. Undefined: the text is unknown. */
export function causeOf(message: string, context: FailureContext): FailureCause | undefined {
  for (const { words, only, cause } of RULES) {
    if (only !== undefined && only !== context.sidecar) continue
    const match = words.exec(message)
    if (match !== null) return cause(match, context)
  }
  return undefined
}

export function nodeFullCause(node: string, driver: string): FailureCause {
  return {
    reason: 'NodeFull',
    waitsFor: `room for one more volume of ${driver} on node ${node}`,
    advice: ROWS.nodeFull,
  }
}

export function nodeWithoutDriver(node: string, driver: string): FailureCause {
  return {
    reason: 'NodeWithoutDriver',
    waitsFor: `driver ${driver} to register on node ${node}`,
    advice: ROWS.nodeWithoutDriver,
  }
}

export function volumeMissing(pv: string, deleting: boolean): FailureCause {
  return deleting
    ? {
        reason: 'VolumeGone',
        waitsFor: `PersistentVolume ${pv}, which does not exist, and without which the volume to detach is unknown`,
        advice: ROWS.volumeGone,
      }
    : { reason: 'VolumeMissing', waitsFor: `PersistentVolume ${pv}, which does not exist`, advice: ROWS.volumeMissing }
}

function secretUnreadable(name: string): FailureCause {
  return { reason: 'SecretUnreadable', waitsFor: `Secret ${name}, which cannot be read`, advice: ROWS.secretUnreadable }
}
