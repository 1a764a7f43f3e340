import type { Driver } from '@csi-sidecars/csi'
import {
  ControllerServiceCapability_RPC_Type as ControllerRpc,
  NodeServiceCapability_RPC_Type as NodeRpc,
} from '@csi-sidecars/csi-proto'
import { createRecorder } from '@csi-sidecars/events'
import { type ClusterConfig, isNotFound, type KubeClient, loadClusterConfig } from '@csi-sidecars/kube-client'
import {
  Answered,
  type App,
  bothAddresses,
  electorOf,
  type FeatureGates,
  failing,
  featureGates,
  kubeClient,
  openEndpoint,
  RESIZER_GATES,
  type Service,
  StartError,
  type Started,
  sanitizeName,
} from '@csi-sidecars/sidecar'
import type { Logger } from '@csi-sidecars/telemetry'
import { QueueMetrics } from '@csi-sidecars/workqueue'
import { openCaches } from './caches/open.ts'
import { type Greeted, greetDriver, openDriver } from './driver.ts'
import { RESIZER_FLAGS, type ResizerBoot } from './flags.ts'
import { leadResizer, queueName, type ResizerParts, type ResizerSettings } from './resizer.ts'
import { toldInLog } from './told-events.ts'

export const resizer: App<typeof RESIZER_FLAGS> = {
  name: 'csi-resizer',
  flags: RESIZER_FLAGS,
  gates: RESIZER_GATES,
  start,
}

type ResizerGates = FeatureGates<keyof (typeof RESIZER_GATES)['own']>

const LEASE_PREFIX = 'external-resizer-'

/** The steps of the start, in the order that users see them fail. */
async function start(boot: ResizerBoot): Promise<Started> {
  const { host, version, clock } = boot
  const { values } = boot.flags
  if (values.version) throw new Answered(`${host.argv0} ${version}\n`)
  boot.log.info('Version', { version })
  if (bothAddresses(values)) throw new StartError('Only one of `--metrics-address` and `--http-endpoint` can be set.')
  const requested = featureGates(boot, RESIZER_GATES, 'Failed to set feature gates')
  const { kubeconfig, master } = values
  const config = await loadClusterConfig({ kubeconfig, master, env: host.env, clock, log: boot.log }).catch(
    failing('Failed to create cluster config'),
  )
  const client = await Promise.try(() => kubeClient(boot, config)).catch(failing('Failed to create kube client'))
  const gates = await gatesOfServer(boot, requested, client)
  const greeted = await greetDriver(boot)
  boot.log.v(2)?.info('CSI driver name', { driverName: greeted.name })
  try {
    return await startControllers(boot, { config, client, gates, greeted })
  } catch (error) {
    greeted.connection.close()
    throw error
  }
}

interface Prepared {
  readonly config: ClusterConfig
  readonly client: KubeClient
  readonly gates: ResizerGates
  readonly greeted: Greeted
}

async function startControllers(boot: ResizerBoot, { config, client, gates, greeted }: Prepared): Promise<Started> {
  const { log } = boot
  const settings = settingsOf(boot, gates, greeted.name)
  const { resizeTimeoutMs, modifyTimeoutMs } = settings
  const driver = await openDriver(boot, greeted, { log, resizeTimeoutMs, modifyTimeoutMs })
  const choice = choose(driver, log)
  const endpoint = await openEndpoint(boot, { failure: 'Failed to start HTTP server', log })
  const component = `${LEASE_PREFIX}${sanitizeName(driver.name)}`
  const elector = await electorOf(boot, config, { leasePrefix: LEASE_PREFIX, driverName: driver.name, component })
  const modifies = choice.modifies && gates.enabled('VolumeAttributesClass')
  const controllers = controllersOf({ boot, settings, client, driver, expands: choice.expands, modifies })
  const service: Service = {
    driver,
    elector,
    caches: controllers.caches,
    lead: controllers.lead,
    close: async (signal) => {
      await controllers.recorder.flush(signal)
      await endpoint.close()
    },
  }
  endpoint.health.started(service)
  return { service, release: gates.enabled('ReleaseLeaderElectionOnExit'), log }
}

const CLASS = 'VolumeAttributesClass'

/** Where nobody has said whether volumes are modified, the server's knowledge of classes decides. */
async function gatesOfServer(
  { log, signal }: ResizerBoot,
  gates: ResizerGates,
  client: KubeClient,
): Promise<ResizerGates> {
  if (gates.explicit(CLASS)) return gates
  try {
    if (await servesClasses(client, signal)) {
      log.info('VolumeAttributesClass v1 API is available')
      return gates
    }
  } catch (error) {
    signal.throwIfAborted()
    log.error(error, 'Failed to check VolumeAttributesClass V1 API availability')
    return gates
  }
  log.info('Disabling VolumeAttributesClass feature gate because the VolumeAttributesClass v1 API is not available')
  return gates.withDefault(CLASS, false)
}

async function servesClasses(client: KubeClient, signal: AbortSignal): Promise<boolean> {
  try {
    const answer = await client.discover('/apis/storage.k8s.io/v1', { signal })
    const { resources = [] } = answer as { readonly resources?: readonly { readonly kind?: string }[] }
    return resources.some(({ kind }) => kind === CLASS)
  } catch (error) {
    if (isNotFound(error)) return false
    throw error
  }
}

interface Choice {
  readonly expands: 'driver' | 'node' | undefined
  readonly modifies: boolean
}

/** What there is to do for a driver with these capabilities. */
function choose({ capabilities: { controller, node } }: Driver, log: Logger): Choice {
  const modifies = controller.has(ControllerRpc.MODIFY_VOLUME)
  const expands = controller.has(ControllerRpc.EXPAND_VOLUME)
    ? 'driver'
    : node?.has(NodeRpc.EXPAND_VOLUME) === true
      ? 'node'
      : undefined
  if (expands === 'node') {
    log.info('The CSI driver supports node resize only, using trivial resizer to handle resize requests')
  }
  if (expands === undefined) {
    const message = 'CSI driver neither supports controller resize nor node resize'
    log.info('Resize not supported', { message })
  }
  if (!modifies) log.info('Modify not supported', { message: 'CSI driver does not support controller modify' })
  if (expands === undefined && !modifies) {
    throw new StartError('CSI driver does not support resize nor modify', { exitCode: 255 })
  }
  return { expands, modifies }
}

interface Chosen extends Choice {
  readonly boot: ResizerBoot
  readonly settings: ResizerSettings
  readonly client: KubeClient
  readonly driver: Driver
}

function controllersOf({
  boot,
  settings,
  client,
  driver,
  expands,
  modifies,
}: Chosen): Pick<Service, 'caches' | 'lead'> & Pick<ResizerParts, 'recorder'> {
  const { clock, log, metrics, flags } = boot
  const resyncMs = flags.values['resync-period']
  const { informers, caches } = openCaches({ client, driverName: driver.name, modifies, resyncMs, clock, log })
  const component = `external-resizer ${driver.name}`
  const recorder = toldInLog(createRecorder({ client, component, clock, log }), log)
  const queues = new QueueMetrics(metrics, clock)
  if (expands !== undefined || modifies) queues.declare(queueName(driver.name))
  const parts: ResizerParts = { settings, expands, client, driver, ...informers, recorder, queues, clock, log }
  return { caches, recorder, lead: (lead) => leadResizer(parts, lead) }
}

/** A --timeout on the command line is also the limit of the calls, even if it is the default. */
function settingsOf(
  { flags: { values, given } }: ResizerBoot,
  gates: ResizerGates,
  driverName: string,
): ResizerSettings {
  const forAll = given.has('timeout') ? values.timeout : undefined
  return {
    driverName,
    workers: values.workers,
    retryStartMs: values['retry-interval-start'],
    retryMaxMs: values['retry-interval-max'],
    resizeTimeoutMs: forAll ?? values['resize-timeout'],
    modifyTimeoutMs: forAll ?? values['modify-timeout'],
    handleInUse: values['handle-volume-inuse-error'],
    annotateFsResize: gates.enabled('AnnotateFsResize'),
    extraMetadata: values['extra-modify-metadata'],
  }
}
