import type { Reason } from '@csi-sidecars/waits'
import type { OriginalName } from '../facts/leases.ts'
import type { RowKey } from './finding.ts'
import { ROWS } from './rows.ts'

/** The cause that an error message names. */
export interface FailureCause {
  readonly reason: Reason
  readonly waitsFor: string
  readonly advice: RowKey
}

/** The sidecar, the driver and the object that a failure is about. */
export interface FailureContext {
  readonly sidecar: OriginalName
  readonly driver: string
  /** The node, if the failure is about an attachment. */
  readonly node?: string | undefined
  readonly deleting?: boolean
}

interface Rule {
  readonly words: RegExp
  readonly only?: OriginalName
  readonly cause: (match: readonly string[], context: FailureContext) => FailureCause
}

/**
 * The error messages of our sidecars and of the Go sidecars, in the order in which they are tried. The messages are
 * stable, because users rely on them.
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
    cause: ([, pv]) =>
      because('VolumeBeingDeleted', 'volumeBeingDeleted', `PersistentVolume ${pv}, which is being deleted`),
  },
  { words: /failed to load secret "([^"]+)"/, cause: ([, name]) => secretUnreadable(`${name}`) },
  {
    words: /error getting secret (\S+) in namespace ([^:\s]+)/,
    cause: ([, name, namespace]) => secretUnreadable(`${namespace}/${name}`),
  },
  {
    words: /cannot get credentials for (?:group )?snapshot content/,
    cause: () => secretUnreadable('of its annotations'),
  },
  {
    // regex-bounded: the expression reads one line of an error message
    words: /admission webhook "([^"]+)" denied the request(?:: (.*))?/,
    cause: ([, webhook, why]) =>
      because(
        'WebhookDenies',
        'apiRefuses',
        `admission webhook ${webhook} to allow it${why === undefined ? '' : `: ${why}`}`,
      ),
  },
  {
    words: /exceeded quota: ([^,]+)/,
    cause: ([, quota]) => because('QuotaExceeded', 'apiRefuses', `room in ResourceQuota ${quota}`),
  },
  {
    words: /is forbidden: User "([^"]+)" cannot (\S+) resource "([^"]+)"/,
    cause: ([, user, verb, resource]) =>
      because('Forbidden', 'apiRefuses', `a role that lets ${user} ${verb} ${resource}`),
  },
  {
    words: /CSI driver (\S+) does not support ControllerModifyVolume/,
    cause: ([, driver]) =>
      because(
        'ModifyNotSupported',
        'modifyUnsupported',
        `a claim without VolumeAttributesClass: driver ${driver} cannot modify volumes`,
      ),
  },
  { words: /only supports offline expansion/, cause: () => because('ClaimInUse', 'claimInUse', OFFLINE) },
  {
    words: /code = ResourceExhausted/,
    only: 'external-attacher',
    cause: (_, { node = '', driver }) => nodeFullCause(node, driver),
  },
  {
    words: /code = FailedPrecondition/,
    only: 'external-attacher',
    cause: (_, { node, driver, deleting }) =>
      deleting === true
        ? because(
            'AttachedElsewhere',
            'detachFails',
            `driver ${driver}, which refuses to detach the volume from node ${node}`,
          )
        : because(
            'AttachedElsewhere',
            'attachedElsewhere',
            `the volume to leave the node where ${driver} still has it`,
          ),
  },
  {
    words: /code = (?:DeadlineExceeded|Canceled)/,
    cause: (_, { driver }) =>
      because('DriverTooSlow', 'driverTooSlow', `driver ${driver} to answer, which takes longer than the time-out`),
  },
  {
    words: /code = Unavailable/,
    cause: (_, { driver }) => because('DriverUnavailable', 'driverUnavailable', `driver ${driver} to be reachable`),
  },
  {
    words: /code = (\w+)/,
    cause: ([, code], { driver, sidecar, deleting }) => {
      const refused = deleting === true ? 'detachFails' : 'driverRefuses'
      const advice = sidecar === 'external-resizer' ? 'resizeFailed' : refused
      return because('DriverRefuses', advice, `driver ${driver} to do what it has refused with ${code}`)
    },
  },
]

const OFFLINE = 'the pods that use the claim to end, because the driver expands only volumes that are not in use'

/** Returns the cause that an error message names. Undefined if the message is unknown. */
export function causeOf(message: string, context: FailureContext): FailureCause | undefined {
  for (const { words, only, cause } of RULES) {
    if (only !== undefined && only !== context.sidecar) continue
    const match = words.exec(message)
    if (match !== null) return cause(match, context)
  }
  return undefined
}

export function nodeFullCause(node: string, driver: string): FailureCause {
  return because('NodeFull', 'nodeFull', `room for one more volume of ${driver} on node ${node}`)
}

export function nodeWithoutDriver(node: string, driver: string): FailureCause {
  return because('NodeWithoutDriver', 'nodeWithoutDriver', `driver ${driver} to register on node ${node}`)
}

export function volumeMissing(pv: string, deleting: boolean): FailureCause {
  const missing = `PersistentVolume ${pv}, which does not exist`
  return deleting
    ? because('VolumeGone', 'volumeGone', `${missing}, and without which the volume to detach is unknown`)
    : because('VolumeMissing', 'volumeMissing', missing)
}

function secretUnreadable(name: string): FailureCause {
  return because('SecretUnreadable', 'secretUnreadable', `Secret ${name}, which cannot be read`)
}

function because(reason: Reason, row: keyof typeof ROWS, waitsFor: string): FailureCause {
  return { reason, waitsFor, advice: ROWS[row] }
}
