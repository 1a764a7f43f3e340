import type { AnyController, Lead } from '@csi-sidecars/controller'
import type { Driver } from '@csi-sidecars/csi'
import { ControllerServiceCapability_RPC_Type as ControllerRpc } from '@csi-sidecars/csi-proto'
import { clientWhileLeading } from '@csi-sidecars/kube-client'
import {
  type App,
  type AppControllers,
  type AppParts,
  type GateTable,
  RELEASE_ON_EXIT,
  StartError,
} from '@csi-sidecars/sidecar'
import { openAttachingCaches, openAttachments } from './caches/open.ts'
import { ATTACHER_FLAGS } from './flags.ts'
import { handshakeOf } from './handshake.ts'
import { PV_QUEUE, volumeController } from './persistent-volume/controller.ts'
import { EventPermission } from './reporting/failure-reporter.ts'
import { finalizerName } from './term/finalizer-name.ts'
import type { AttacherSettings } from './term/settings.ts'
import type { AttacherDeps, AttacherTerm } from './term/term.ts'
import { trivialController } from './trivial/controller.ts'
import { attachmentController, VA_QUEUE } from './volume-attachment/controller.ts'
import { listsPublishedNodes } from './volume-attachment/observe.ts'
import { VolumeFinalizers } from './volumes/volume-finalizers.ts'

const ATTACHER_GATES = {
  sidecarGates: {
    MutableCSINodeAllocatableCount: { stage: 'ga', default: true },
    ReleaseLeaderElectionOnExit: RELEASE_ON_EXIT,
  },
  permanent: {},
} as const satisfies GateTable

type GateName = keyof (typeof ATTACHER_GATES)['sidecarGates']

type AttacherStart = AppParts<typeof ATTACHER_FLAGS, GateName>

export const attacher: App<typeof ATTACHER_FLAGS, GateName> = {
  name: 'csi-attacher',
  prefix: 'attacher',
  replaces: 'external-attacher v4.13.0',
  flags: ATTACHER_FLAGS,
  gates: ATTACHER_GATES,
  lease: {
    prefix: 'external-attacher-leader-',
    component: (driverName) => `external-attacher-leader-${driverName}`,
  },
  start: {
    gatesFailed: 'failed to store flag gates',
    clientFailed: 'Failed to create a Clientset',
    endpointFailed: 'Failed to start HTTP server at specified address and metrics path',
    checksGatesBeforeVersion: true,
    logsRequestedGates: true,
    opensServerBeforeHandshake: true,
    startLogNamesDriver: true,
  },
  configure: ({ values }) => ({
    errorsBeforeStep: {
      apiClient:
        values['worker-threads'] === 0 ? new StartError('Option -worker-threads must be greater than zero') : undefined,
    },
    handshake: handshakeOf(values),
  }),
  controllers: chooseControllers,
}

/** Returns the controllers. If the driver cannot attach volumes, they only mark VolumeAttachments as attached. */
function chooseControllers({
  flags,
  gates,
  client,
  driver,
  caches,
  backlog,
  clock,
  log,
  startLog,
}: AttacherStart): AppControllers {
  const trivial = whyTrivial(driver)
  startLog.v(2)?.info(trivial ?? 'CSI driver supports ControllerPublishUnpublish, using real CSI handler')
  if (listsPublishedNodes(driver)) {
    startLog
      .v(2)
      ?.info(
        'CSI driver supports list volumes published nodes. Using capability to reconcile volume attachment objects with actual backend state',
      )
  }
  const options = {
    caches,
    driverName: driver.name,
    resyncMs: flags.values.resync,
    remember: flags.values['recover-lost-volumes'],
  }
  const deps: AttacherDeps = {
    settings: settingsOf(flags.values, gates, driver.name),
    client,
    driver,
    attachments: openAttachments(options),
    attaching: trivial === undefined ? openAttachingCaches(options) : undefined,
    eventPermission: new EventPermission(),
    backlog,
    clock,
    log,
  }
  return { queues: [VA_QUEUE, PV_QUEUE], controllers: (lead) => attacherControllers(deps, lead) }
}

/** Returns the controllers that run while this process leads. */
export function attacherControllers(deps: AttacherDeps, { assertLeading }: Lead): readonly AnyController[] {
  const api = clientWhileLeading(deps.client, assertLeading)
  if (deps.attaching === undefined) return [trivialController({ ...deps, api })]
  const { volumes } = deps.attaching
  const finalizers = new VolumeFinalizers({ api, volumes, finalizer: deps.settings.finalizer })
  const term: AttacherTerm = { ...deps, ...deps.attaching, finalizers, api, assertLeading }
  return [attachmentController(term), volumeController(term)]
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

function settingsOf(
  values: AttacherStart['flags']['values'],
  gates: AttacherStart['gates'],
  driverName: string,
): AttacherSettings {
  return {
    driverName,
    finalizer: finalizerName(driverName),
    defaultFsType: values['default-fstype'],
    recoverLostVolumes: values['recover-lost-volumes'],
    workers: values['worker-threads'],
    maxInflightPerNode: values['max-inflight-per-node'],
    retryStartMs: values['retry-interval-start'],
    retryMaxMs: values['retry-interval-max'],
    timeoutMs: values.timeout,
    maxEntries: values['max-entries'],
    comparisonPeriodMs: values['reconcile-sync'],
    confirmations: values['reconcile-confirmations'],
    recordErrorCode: gates.isEnabled('MutableCSINodeAllocatableCount'),
  }
}
