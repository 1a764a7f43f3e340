import { messageOf } from '@csi-sidecars/base'
import { type AnyController, adaptToPressure, type Lead } from '@csi-sidecars/controller'
import { getGroupControllerCapabilities } from '@csi-sidecars/csi'
import { GroupControllerServiceCapability_RPC_Type as GroupRpc } from '@csi-sidecars/csi-proto'
import { createRecorder } from '@csi-sidecars/events'
import {
  type App,
  type AppControllers,
  type AppParts,
  type Cache,
  ENDPOINT_FAILED,
  FATAL,
  type GateTable,
  RELEASE_ON_EXIT,
  StartError,
  sentence,
  setsBothAddresses,
} from '@csi-sidecars/sidecar'
import { UNQUOTED } from '@csi-sidecars/telemetry'
import { contentController } from './content/controller.ts'
import { GROUP, SNAPSHOT } from './content/kinds.ts'
import { ContentMemory } from './content/memory.ts'
import { SNAPSHOTTER_FLAGS } from './flags.ts'
import { GroupKinds } from './group-kinds.ts'
import { handshakeOf, refusal } from './handshake.ts'
import { openCaches } from './informers.ts'
import type { Naming, SnapshotterParts, SnapshotterSettings } from './parts.ts'
import { unreferencedTask } from './unreferenced/join.ts'

const GROUPS = 'CSIVolumeGroupSnapshot'

const SNAPSHOTTER_GATES = {
  sidecarGates: {
    [GROUPS]: { stage: 'ga', default: true },
    ReleaseLeaderElectionOnExit: RELEASE_ON_EXIT,
  },
  permanent: {},
} as const satisfies GateTable

type GateName = keyof (typeof SNAPSHOTTER_GATES)['sidecarGates']

type SnapshotterAppParts = AppParts<typeof SNAPSHOTTER_FLAGS, GateName>

const NO_NODE = 'The NODE_NAME environment variable must be set when using --enable-node-deployment.'
const LEASE_PREFIX = 'external-snapshotter-leader-'

export const snapshotter: App<typeof SNAPSHOTTER_FLAGS, GateName> = {
  name: 'csi-snapshotter',
  prefix: 'snapshotter',
  replaces: 'external-snapshotter v8.7.0',
  flags: SNAPSHOTTER_FLAGS,
  gates: SNAPSHOTTER_GATES,
  lease: { prefix: LEASE_PREFIX, component: (driverName) => `${LEASE_PREFIX}${driverName.replaceAll('/', '-')}` },
  start: {
    gatesFailed: sentence('Error while parsing feature gates', FATAL),
    bothAddressesError: undefined,
    configFailed: { sentence: (causeText) => causeText },
    clientFailed: { sentence: (causeText) => causeText },
    endpointFailed: ENDPOINT_FAILED,
    checksGatesBeforeVersion: true,
    opensServerBeforeHandshake: true,
    exitsWithZeroOnSigint: true,
  },
  configure: ({ values }, { NODE_NAME = '' }) => ({
    errorsBeforeStep: {
      apiConfig:
        values['node-deployment'] && values['leader-election']
          ? refusal('Leader election cannot happen when node-deployment is set to true')
          : undefined,
      apiClient: clientErrorOf(values, NODE_NAME),
    },
    onEachNode: values['node-deployment'],
    handshake: handshakeOf(values),
  }),
  controllers: chooseControllers,
}

/** Returns the error that ends the start when the API client is created. Undefined if there is none. */
function clientErrorOf(values: SnapshotterAppParts['flags']['values'], nodeName: string): StartError | undefined {
  if (values['node-deployment'] && nodeName === '') return new StartError(NO_NODE, { exitCode: FATAL })
  if (setsBothAddresses(values)) return refusal('only one of `--metrics-address` and `--http-endpoint` can be set.')
  return undefined
}

async function chooseControllers(openParts: SnapshotterAppParts): Promise<AppControllers> {
  const { flags, env, client, driver, clock, log } = openParts
  const { values } = flags
  const settings = settingsOf(values, driver.name)
  checkNaming(settings.snapshotNaming, 'Snapshot')
  const groupKinds = await groupKindsOf(openParts)
  if (groupKinds !== undefined) {
    await checkGroupCapabilities(openParts)
    checkNaming(settings.groupNaming, 'group snapshot')
  }
  const nodeName = values['node-deployment'] ? env['NODE_NAME'] : undefined
  const options = { ...openParts, driverName: driver.name, nodeName, resyncMs: values['resync-period'] }
  const recorder = createRecorder({ client, component: `csi-snapshotter ${driver.name}`, clock, log })
  const snapshots = openCaches(SNAPSHOT, options)
  const delay = (cache: Cache): Cache => groupKinds?.delayed(cache) ?? cache
  const groups = groupKinds && openCaches(GROUP, { ...options, delay })
  return {
    queues: groups === undefined ? [SNAPSHOT.queue] : [SNAPSHOT.queue, GROUP.queue],
    controllers: (lead) => snapshotterControllers({ ...openParts, settings, snapshots, groups, recorder }, lead),
    close: (signal) => recorder.flush(signal),
  }
}

/** Returns the snapshotter's controllers. They run only while this process is the leader. */
export function snapshotterControllers(
  term: SnapshotterParts,
  lead: Pick<Lead, 'assertLeading'>,
): readonly AnyController[] {
  const { log, snapshots, groups } = term
  log.info('Starting CSI snapshotter', UNQUOTED)
  const memory = new ContentMemory(term.clock)
  const groupMemory = new ContentMemory(term.clock)
  const alongside = unreferencedTask(term, [memory, groupMemory], lead.assertLeading)
  const single = {
    ...contentController(term, { kind: SNAPSHOT, ...snapshots, memory }, lead),
    ...(alongside && { alongside }),
    onEnd: () => log.info('Shutting CSI snapshotter', UNQUOTED),
  }
  const adaptive = adaptToPressure(single, term)
  if (groups === undefined) return [adaptive]
  const group = contentController(term, { kind: GROUP, ...groups, memory: groupMemory }, lead)
  return [adaptive, adaptToPressure(group, term)]
}

function settingsOf(values: SnapshotterAppParts['flags']['values'], driverName: string): SnapshotterSettings {
  return {
    driverName,
    workers: values['worker-threads'],
    retryStartMs: values['retry-interval-start'],
    retryMaxMs: values['retry-interval-max'],
    timeoutMs: values.timeout,
    extraMetadata: values['extra-create-metadata'],
    parameterTemplates: values['parameter-templates'],
    onEachNode: values['node-deployment'],
    unreferencedIntervalMs: values['unreferenced-check-interval'],
    unreferencedHandleFilter: values['unreferenced-handle-filter'],
    snapshotNaming: { prefix: values['snapshot-name-prefix'], uidLength: values['snapshot-name-uuid-length'] },
    groupNaming: { prefix: values['groupsnapshot-name-prefix'], uidLength: values['groupsnapshot-name-uuid-length'] },
  }
}

/** The number of hexadecimal digits of a UID. */
const UID_LENGTH = 32

function checkNaming({ prefix, uidLength }: Naming, called: string): void {
  if (prefix === '') throw refusal(`${called} name prefix cannot be of length 0`)
  if (uidLength < -1 || uidLength > UID_LENGTH) {
    throw refusal(`${called} name uuid length must be between -1 and ${UID_LENGTH}`)
  }
}

/** Returns the question for group snapshots. Undefined if the gate is off or the API server does not serve them. */
async function groupKindsOf({
  gates,
  flags,
  signal,
  ...openParts
}: SnapshotterAppParts): Promise<GroupKinds | undefined> {
  if (!gates.isEnabled(GROUPS)) return undefined
  const groupKinds = new GroupKinds({ ...openParts, timeoutMs: flags.values.timeout })
  return (await groupKinds.ask(signal)) === 'absent' ? undefined : groupKinds
}

/** Logs if the driver does not support group snapshots. The controller of group contents runs all the same. */
async function checkGroupCapabilities({ driver, flags, log, signal }: SnapshotterAppParts): Promise<void> {
  try {
    const capabilities = await getGroupControllerCapabilities(driver, { timeoutMs: flags.values.timeout, signal })
    if (capabilities.has(GroupRpc.CREATE_DELETE_GET_VOLUME_GROUP_SNAPSHOT)) return
    const when = 'when the --feature-gates=CSIVolumeGroupSnapshot=true flag is set'
    log.warn(`CSI driver ${driver.name} does not support GroupControllerCreateVolumeGroupSnapshot ${when}`, UNQUOTED)
  } catch (error) {
    signal.throwIfAborted()
    const failedQuestion = 'error determining if driver supports create/delete group snapshot operations'
    log.error(undefined, `${failedQuestion}: ${messageOf(error)}`, UNQUOTED)
  }
}
