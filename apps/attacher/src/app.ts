import type { Driver } from '@csi-sidecars/csi'
import { ControllerServiceCapability_RPC_Type as ControllerRpc } from '@csi-sidecars/csi-proto'
import { createInformer } from '@csi-sidecars/informer'
import { type KubeClient, loadClusterConfig } from '@csi-sidecars/kube-client'
import { CSI_NODES, PERSISTENT_VOLUMES, VOLUME_ATTACHMENTS } from '@csi-sidecars/kube-types'
import {
  Answered,
  type App,
  ATTACHER_GATES,
  bothAddresses,
  type Cache,
  cacheOf,
  electorOf,
  type FeatureGates,
  failing,
  featureGates,
  kubeClient,
  openEndpoint,
  type Service,
  StartError,
  type Started,
} from '@csi-sidecars/sidecar'
import type { Logger } from '@csi-sidecars/telemetry'
import { QueueMetrics } from '@csi-sidecars/workqueue'
import {
  type AttacherParts,
  type AttacherSettings,
  leadAttacher,
  leadTrivially,
  listsPublishedNodes,
  PV_QUEUE,
  VA_QUEUE,
} from './attacher.ts'
import { attachmentProjection } from './caches/attachment.ts'
import { finalizerName } from './caches/names.ts'
import { nodeProjection } from './caches/node.ts'
import { volumeProjection } from './caches/volume.ts'
import { greetDriver, openDriver } from './driver.ts'
import { ATTACHER_FLAGS, type AttacherBoot } from './flags.ts'
import { BY_VOLUME } from './persistent-volume/reconcile.ts'

export const attacher: App<typeof ATTACHER_FLAGS> = {
  name: 'csi-attacher',
  flags: ATTACHER_FLAGS,
  gates: ATTACHER_GATES,
  start,
}

type AttacherGates = FeatureGates<keyof (typeof ATTACHER_GATES)['own']>

/** The steps of the start, in the order that users see them fail. */
async function start(boot: AttacherBoot): Promise<Started> {
  const { host, version, clock } = boot
  const { values } = boot.flags
  const gates = featureGates(boot, ATTACHER_GATES, 'failed to store flag gates')
  if (values.version) throw new Answered(`${host.argv0} ${version}\n`)
  boot.log.info('Version', { version })
  if (bothAddresses(values)) throw new StartError('Only one of `--metrics-address` and `--http-endpoint` can be set')
  const config = await loadClusterConfig({ kubeconfig: values.kubeconfig, env: host.env, clock, log: boot.log }).catch(
    failing('Failed to build a Kubernetes config'),
  )
  if (values['worker-threads'] === 0) throw new StartError('Option -worker-threads must be greater than zero')
  const client = await Promise.try(() => kubeClient(boot, config)).catch(failing('Failed to create a Clientset'))
  const greeted = await greetDriver(boot)
  const context = { driver: greeted.name }
  const log = boot.log.with(context)
  log.v(2)?.info('CSI driver name')
  const failure = 'Failed to start HTTP server at specified address and metrics path'
  const endpoint = await openEndpoint(boot, { failure, context, log })
  const driver = await openDriver(boot, greeted, log)
  const names = {
    leasePrefix: 'external-attacher-leader-',
    driverName: driver.name,
    component: `external-attacher-leader-${driver.name}`,
  }
  const elector = await electorOf(boot, config, names)
  const controllers = chooseControllers({ boot, gates, client, driver, log })
  const service: Service = { driver, elector, ...controllers, close: () => endpoint.close() }
  endpoint.health.started(service)
  return { service, release: gates.enabled('ReleaseLeaderElectionOnExit'), log }
}

interface Choice {
  readonly boot: AttacherBoot
  readonly gates: AttacherGates
  readonly client: KubeClient
  readonly driver: Driver
  readonly log: Logger
}

/** The real handler for a driver that attaches; for any other, attachments are only marked as attached. */
function chooseControllers({ boot, gates, client, driver, log }: Choice): Pick<Service, 'caches' | 'lead'> {
  const { clock, metrics } = boot
  const settings = settingsOf(boot, gates, driver.name)
  const common = { client, clock, log: boot.log, resyncMs: boot.flags.values.resync }
  const attachments = createInformer({
    ...common,
    resource: VOLUME_ATTACHMENTS,
    project: attachmentProjection(driver.name),
    indexes: { [BY_VOLUME]: (va) => (va.pvName === undefined ? [] : [va.pvName]) },
  })
  const queues = new QueueMetrics(metrics, clock)
  queues.declare(VA_QUEUE, PV_QUEUE)
  const parts: AttacherParts = {
    settings,
    client,
    driver,
    attachments,
    queues,
    clock,
    log: boot.log,
  }
  const trivial = whyTrivial(driver)
  log.v(2)?.info(trivial ?? 'CSI driver supports ControllerPublishUnpublish, using real CSI handler')
  if (listsPublishedNodes(driver)) {
    log
      .v(2)
      ?.info(
        'CSI driver supports list volumes published nodes. Using capability to reconcile volume attachment objects with actual backend state',
      )
  }
  if (trivial !== undefined) {
    return { caches: [cacheOf('VolumeAttachments', attachments, clock)], lead: (lead) => leadTrivially(parts, lead) }
  }
  const volumes = createInformer({ ...common, resource: PERSISTENT_VOLUMES, project: volumeProjection(driver.name) })
  const nodes = createInformer({ ...common, resource: CSI_NODES, project: nodeProjection(driver.name) })
  const caches: Cache[] = [
    cacheOf('VolumeAttachments', attachments, clock),
    cacheOf('PersistentVolumes', volumes, clock),
    cacheOf('CSINodes', nodes, clock),
  ]
  return { caches, lead: (lead) => leadAttacher({ ...parts, volumes, nodes }, lead) }
}

function whyTrivial({ capabilities }: Driver): string | undefined {
  if (!capabilities.controllerService) {
    return 'CSI driver does not support Plugin Controller Service, using trivial handler'
  }
  if (!capabilities.controller.has(ControllerRpc.PUBLISH_UNPUBLISH_VOLUME)) {
    return 'CSI driver does not support ControllerPublishUnpublish, using trivial handler'
  }
  return undefined
}

function settingsOf({ flags: { values } }: AttacherBoot, gates: AttacherGates, driverName: string): AttacherSettings {
  return {
    driverName,
    finalizer: finalizerName(driverName),
    defaultFsType: values['default-fstype'],
    workers: values['worker-threads'],
    maxInflightPerNode: values['max-inflight-per-node'],
    retryStartMs: values['retry-interval-start'],
    retryMaxMs: values['retry-interval-max'],
    timeoutMs: values.timeout,
    maxEntries: values['max-entries'],
    comparisonPeriodMs: values['reconcile-sync'],
    confirmations: values['reconcile-confirmations'],
    tellErrorCode: gates.enabled('MutableCSINodeAllocatableCount'),
  }
}
