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
  readonly pattern: RegExp
  readonly only?: OriginalName
  readonly causeFor: (match: readonly string[], context: FailureContext) => FailureCause
}

/**
 * The error messages of our sidecars and of the Go sidecars, in the order in which they are tried. The messages are
 * stable, because users rely on them.
 */
const RULES: readonly Rule[] = [
  {
    pattern: /CSINode (\S+) does not contain driver (\S+)/,
    causeFor: ([, node = '', driver = '']) => nodeWithoutDriver(node, driver),
  },
  {
    pattern: /csinode\.storage\.k8s\.io "([^"]+)" not found/,
    causeFor: ([, node = ''], { driver }) => nodeWithoutDriver(node, driver),
  },
  {
    pattern: /persistentvolume "([^"]+)" not found/,
    causeFor: ([, pv = ''], { deleting }) => volumeMissing(pv, deleting === true),
  },
  {
    pattern: /PersistentVolume "([^"]+)" is marked for deletion/,
    causeFor: ([, pv]) =>
      because('VolumeBeingDeleted', 'volumeBeingDeleted', `PersistentVolume ${pv}, which is being deleted`),
  },
  { pattern: /failed to load secret "([^"]+)"/, causeFor: ([, name]) => secretUnreadable(`${name}`) },
  {
    pattern: /error getting secret (\S+) in namespace ([^:\s]+)/,
    causeFor: ([, name, namespace]) => secretUnreadable(`${namespace}/${name}`),
  },
  {
    pattern: /cannot get credentials for (?:group )?snapshot content/,
    causeFor: () => secretUnreadable('of its annotations'),
  },
  {
    // regex-bounded: the expression reads one line of an error message
    pattern: /admission webhook "([^"]+)" denied the request(?:: (.*))?/,
    causeFor: ([, webhook, why]) =>
      because(
        'WebhookDenies',
        'apiRefuses',
        `admission webhook ${webhook} to allow it${why === undefined ? '' : `: ${why}`}`,
      ),
  },
  {
    pattern: /exceeded quota: ([^,]+)/,
    causeFor: ([, quota]) => because('QuotaExceeded', 'apiRefuses', `room in ResourceQuota ${quota}`),
  },
  {
    pattern: /is forbidden: User "([^"]+)" cannot (\S+) resource "([^"]+)"/,
    causeFor: ([, user, verb, resource]) =>
      because('Forbidden', 'apiRefuses', `a role that lets ${user} ${verb} ${resource}`),
  },
  {
    pattern: /CSI driver (\S+) does not support ControllerModifyVolume/,
    causeFor: ([, driver]) =>
      because(
        'ModifyNotSupported',
        'modifyUnsupported',
        `a claim without VolumeAttributesClass: driver ${driver} cannot modify volumes`,
      ),
  },
  { pattern: /only supports offline expansion/, causeFor: () => because('ClaimInUse', 'claimInUse', OFFLINE) },
  {
    pattern: /code = ResourceExhausted/,
    only: 'external-attacher',
    causeFor: (_, { node = '', driver }) => nodeFullCause(node, driver),
  },
  {
    pattern: /code = FailedPrecondition/,
    only: 'external-attacher',
    causeFor: (_, { node, driver, deleting }) =>
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
    pattern: /code = (?:DeadlineExceeded|Canceled)/,
    causeFor: (_, { driver }) =>
      because('DriverTooSlow', 'driverTooSlow', `driver ${driver} to answer, which takes longer than the time-out`),
  },
  {
    pattern: /code = Unavailable/,
    causeFor: (_, { driver }) => because('DriverUnavailable', 'driverUnavailable', `driver ${driver} to be reachable`),
  },
  {
    pattern: /code = (\w+)/,
    causeFor: ([, code], { driver, sidecar, deleting }) => {
      const refused = deleting === true ? 'detachFails' : 'driverRefuses'
      const advice = sidecar === 'external-resizer' ? 'resizeFailed' : refused
      return because('DriverRefuses', advice, `driver ${driver} to do what it has refused with ${code}`)
    },
  },
]

const OFFLINE = 'the pods that use the claim to end, because the driver expands only volumes that are not in use'

/** Returns the cause that an error message names. Undefined if the message is unknown. */
export function causeOf(message: string, context: FailureContext): FailureCause | undefined {
  for (const { pattern, only, causeFor } of RULES) {
    if (only !== undefined && only !== context.sidecar) continue
    const match = pattern.exec(message)
    if (match !== null) return causeFor(match, context)
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
