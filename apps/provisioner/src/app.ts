import {
  ControllerServiceCapability_RPC_Type as ControllerRpc,
  PluginCapability_Service_Type as PluginService,
} from '@csi-sidecars/csi-proto'
import { inTreeNameFromCSIName, isMigratedCSIDriverByName } from '@csi-sidecars/csi-translation'
import { createRecorder } from '@csi-sidecars/events'
import {
  type App,
  type AppControllers,
  type AppParts,
  attributesClassGate,
  ENDPOINT_FAILED,
  FATAL,
  type GateTable,
  RELEASE_ON_EXIT,
  StartError,
  sanitizeName,
  sentence,
} from '@csi-sidecars/sidecar'
import type { DriverNames } from './caches/names.ts'
import { openCaches, type ProvisionerCaches } from './caches/open.ts'
import { openCapacity } from './capacity/open.ts'
import type { CapacityParts } from './capacity/run.ts'
import { provisionerControllers } from './controllers.ts'
import { PROVISIONER_FLAGS } from './flags.ts'
import { handshakeOf } from './handshake.ts'
import { ProvisionMetrics } from './metrics.ts'
import { type LocalNode, nodeSegments } from './node/local-node.ts'
import type { ProvisionerParts, ProvisionerSettings } from './parts.ts'

const PROVISIONER_GATES = {
  sidecarGates: {
    CrossNamespaceVolumeDataSource: { stage: 'alpha', default: false },
    ReleaseLeaderElectionOnExit: RELEASE_ON_EXIT,
    Topology: { stage: 'ga', default: true },
    VolumeAttributesClass: { stage: 'ga', default: true },
  },
  permanent: { HonorPVReclaimPolicy: true },
} as const satisfies GateTable

type GateName = keyof (typeof PROVISIONER_GATES)['sidecarGates']

type ProvisionerAppParts = AppParts<typeof PROVISIONER_FLAGS, GateName>

export const provisioner: App<typeof PROVISIONER_FLAGS, GateName> = {
  name: 'csi-provisioner',
  prefix: 'provisioner',
  replaces: 'external-provisioner v6.4.0',
  flags: PROVISIONER_FLAGS,
  gates: PROVISIONER_GATES,
  lease: { prefix: '', component: (driverName) => driverName.replaceAll('/', '-') },
  start: {
    flagSyntax: 'pflag',
    bothAddressesError: { sentence: () => 'only one of `--metrics-address` and `--http-endpoint` can be set.' },
    gatesFailed: { sentence: (causeText) => causeText, exitCode: FATAL },
    configFailed: sentence('Failed to create config', FATAL),
    clientFailed: sentence('Failed to create client', FATAL),
    endpointFailed: ENDPOINT_FAILED,
    checksGatesBeforeVersion: true,
  },
  configure: (flags, env) => ({
    master: flags.values.master,
    kubeconfig: env['KUBECONFIG'] ?? '',
    errorsBeforeStep: { version: nodeNameError(flags, env), apiClient: lengthError(flags) },
    onEachNode: flags.values['node-deployment'],
    profilesPage: flags.values['enable-pprof'],
    handshake: handshakeOf(flags.values),
  }),
  adaptGatesToServer: (server) => attributesClassGate(server.gates, server),
  controllers: openControllers,
}

const MAX_UUID_LENGTH = 32

function nodeNameError(
  { values }: ProvisionerAppParts['flags'],
  env: ProvisionerAppParts['env'],
): StartError | undefined {
  if (!values['node-deployment'] || env['NODE_NAME']) return undefined
  const message = 'The NODE_NAME environment variable must be set when using --enable-node-deployment.'
  return new StartError(message, { exitCode: FATAL })
}

function lengthError({ values }: ProvisionerAppParts['flags']): StartError | undefined {
  const length = values['volume-name-uuid-length']
  if (length >= -1 && length <= MAX_UUID_LENGTH) return undefined
  return new StartError(`--volume-name-uuid-length must be -1, or between 0 and ${MAX_UUID_LENGTH}`)
}

async function openControllers(openParts: ProvisionerAppParts): Promise<AppControllers> {
  const { flags, client, driver, caches, clock, log, startLog } = openParts
  warnOfGate(openParts)
  startLog.v(2)?.info(`Detected CSI driver ${driver.name}`)
  const settings = settingsOf(openParts, { sweepMs: await sweepInterval(openParts), node: await localNode(openParts) })
  const attaches = driver.capabilities.controller.has(ControllerRpc.PUBLISH_UNPUBLISH_VOLUME)
  const [supports, watching] = attaches ? ['supports', 'watching'] : ['does not support', 'not watching']
  startLog.info(`CSI driver ${supports} PUBLISH_UNPUBLISH_VOLUME, ${watching} VolumeAttachments`)
  const recorder = createRecorder({ client, component: settings.component, clock, log })
  const populatorRecorder = createRecorder({ client, component: 'external-provisioner', clock, log })
  const { names, claimFinalizer, topology, node } = settings
  const publishes = flags.values['enable-capacity']
  const opened = openCaches({
    caches,
    names,
    claimFinalizer,
    attaches,
    node,
    nodes: node === undefined && (topology || publishes),
  })
  const provisionerParts: ProvisionerParts = {
    ...openParts,
    settings,
    caches: opened,
    capacity: publishes ? await openOwnCapacity(openParts, settings, opened) : undefined,
    recorder,
    populatorRecorder,
    metrics: new ProvisionMetrics(openParts.metrics),
  }
  return {
    queues: ['claims', 'volumes', 'unsavedpvs', ...(publishes ? ['csistoragecapacity', 'csitopology'] : [])],
    controllers: (lead) => provisionerControllers(provisionerParts, lead),
    close: async (signal) => {
      await Promise.all([recorder.flush(signal), populatorRecorder.flush(signal)])
    },
  }
}

async function openOwnCapacity(
  openParts: ProvisionerAppParts,
  { names, node }: ProvisionerSettings,
  opened: ProvisionerCaches,
): Promise<CapacityParts> {
  const { flags, startLog: log } = openParts
  const { topology, classes } = opened
  const segments = node === undefined ? topology : { fixed: node.segments ?? {} }
  if (segments === undefined) throw new Error('capacity needs the nodes of the cluster')
  return await openCapacity({ ...openParts, ...flags, names, node: node?.name, segments, classes, log })
}

function warnOfGate({ gates, startLog }: ProvisionerAppParts): void {
  if (!gates.isEnabled('CrossNamespaceVolumeDataSource')) return
  startLog.warn("Feature gate CrossNamespaceVolumeDataSource has no effect: data sources have the claim's namespace")
}

/** Milliseconds between two searches for leftover finalizers of snapshots. 0: snapshots are not supported. */
async function sweepInterval({ flags, driver, client, signal }: ProvisionerAppParts): Promise<number> {
  const { 'snapshot-orphan-sweep-interval': intervalMs } = flags.values
  const { controller } = driver.capabilities
  if (intervalMs <= 0 || !controller.has(ControllerRpc.CREATE_DELETE_SNAPSHOT)) return 0
  try {
    await client.discover('/apis/snapshot.storage.k8s.io/v1', { signal })
    return intervalMs
  } catch {
    signal.throwIfAborted()
    return 0
  }
}

/** Returns the node that this process serves. Undefined without `--node-deployment`. */
async function localNode({ flags, env, driver, signal }: ProvisionerAppParts): Promise<LocalNode | undefined> {
  const { values } = flags
  if (!values['node-deployment']) return undefined
  return {
    name: env['NODE_NAME'] ?? '',
    segments: await nodeSegments(driver, { timeoutMs: values.timeout, signal }),
    immediateBinding: values['node-deployment-immediate-binding'],
    baseDelayMs: values['node-deployment-base-delay'],
    maxDelayMs: values['node-deployment-max-delay'],
    rescheduleAfterMs: values['node-deployment-reschedule-after'],
  }
}

function settingsOf(
  { flags, gates, driver, clock, hostName }: ProvisionerAppParts,
  asked: Pick<ProvisionerSettings, 'sweepMs' | 'node'>,
): ProvisionerSettings {
  const { values } = flags
  const started = `${Math.floor(clock.now())}-${Math.floor(clock.random() * 10_000)}`
  return {
    names: namesOf(driver.name),
    identity: [started, driver.name, ...(asked.node === undefined ? [] : [asked.node.name])].join('-'),
    component: `${driver.name}_${hostName}_${uuid(clock)}`,
    claimFinalizer: `external-provisioner/${sanitizeName(driver.name)}`,
    finalizeClaims: values['finalize-claims'],
    workers: values['worker-threads'],
    retryStartMs: values['retry-interval-start'],
    retryMaxMs: values['retry-interval-max'],
    timeoutMs: values.timeout,
    volumeNamePrefix: values['volume-name-prefix'],
    volumeNameUuidLength: values['volume-name-uuid-length'],
    defaultFsType: values['default-fstype'],
    extraMetadata: values['extra-create-metadata'],
    parameterTemplates: values['parameter-templates'],
    publishReadOnly: values['controller-publish-readonly'],
    topology:
      gates.isEnabled('Topology') &&
      driver.capabilities.plugin.services.has(PluginService.VOLUME_ACCESSIBILITY_CONSTRAINTS),
    preventModeConversion: values['prevent-volume-mode-conversion'],
    ...asked,
    cloneReleaseWorkers: driver.capabilities.controller.has(ControllerRpc.CLONE_VOLUME)
      ? values['cloning-protection-threads']
      : undefined,
    strictTopology: values['strict-topology'],
    immediateTopology: values['immediate-topology'],
    unreferencedIntervalMs: values['unreferenced-check-interval'],
    unreferencedHandleFilter: values['unreferenced-handle-filter'],
    attributesClasses: gates.isEnabled('VolumeAttributesClass'),
  }
}

function namesOf(driver: string): DriverNames {
  return { driver, inTree: isMigratedCSIDriverByName(driver) ? inTreeNameFromCSIName(driver) : undefined }
}

/** Returns a random UUID, which distinguishes two processes on one host. */
function uuid(clock: ProvisionerAppParts['clock']): string {
  const hex = Array.from({ length: 32 }, () => Math.floor(clock.random() * 16).toString(16)).join('')
  return hex.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5')
}
