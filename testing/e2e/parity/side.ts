import { createWriteStream, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { CancelledError, systemClock } from '@csi-sidecars/base'
import {
  addFinalizerPatch,
  EVENTS,
  NAMESPACES,
  NODES,
  PERSISTENT_VOLUME_CLAIMS,
  PERSISTENT_VOLUMES,
  PODS,
  removeFinalizerPatch,
  VOLUME_ATTACHMENTS,
  type VolumeAttachment,
} from '@csi-sidecars/kube-types'
import { openLog } from '@csi-sidecars/telemetry'
import { startDevcluster } from '../../../desk/devcluster/src/cluster/devcluster.ts'
import type { ControllerName } from '../../../desk/devcluster/src/cluster/start-controllers.ts'
import { type Api, ApiRefusal } from '../harness/api/api.ts'
import { startControllerManager, startControlPlane } from '../harness/api/control-plane.ts'
import { kubeconfigOf } from '../harness/context.ts'
import { stop, temporaryFolder } from '../harness/process/processes.ts'
import { apiServer, executablesOf } from '../harness/programs/binaries.ts'
import { repeat } from '../harness/waiting.ts'
import type { ScenarioSide } from './scenario.ts'
import type { Objects } from './view.ts'

const ROOT = join(import.meta.dirname, '../../..')

/** The resync period of both PersistentVolume controllers. In Kubernetes it is 15 s. */
export const RESYNC_MS = 3000

/** A cluster: a real API server with the real kube-controller-manager or with our controllers. */
export interface ParityCluster {
  readonly name: 'real' | 'ours'
  readonly api: Api
  /** Creates the namespace of a scenario, and returns the scenario's names and API client. */
  sceneOf(id: string): Promise<ScenarioSide>
  objects(): Promise<Objects>
  stop(): Promise<void>
}

interface SideOptions {
  readonly binaries: string
  /** The folder for the logs. */
  readonly folder: string
}

const KUBERNETES_CONTROLLERS = [
  'persistentvolume-binder-controller',
  'persistentvolume-attach-detach-controller',
  'persistentvolume-expander-controller',
  'persistentvolume-protection-controller',
  'persistentvolumeclaim-protection-controller',
  'ephemeral-volume-controller',
  // The garbage collector deletes the claims of deleted pods.
  'garbage-collector-controller',
]

const OUR_CONTROLLERS = [
  'persistent-volume',
  'attach-detach',
  'ephemeral-volume',
  'expander',
] as const satisfies readonly ControllerName[]

/** Starts a cluster with a provisioner and an attacher, which are not part of kube-controller-manager. */
export async function startSide(
  name: ParityCluster['name'],
  { binaries, folder: parent }: SideOptions,
): Promise<ParityCluster> {
  await using stack = new AsyncDisposableStack()
  const folder = join(parent, name)
  mkdirSync(folder, { recursive: true })
  const cluster = await startControlPlane({ ...apiServer(), binaries, logs: folder })
  stack.defer(() => cluster.stop())
  const { api, url, ca, adminToken } = cluster
  const kubeconfig = join(folder, 'kubeconfig')
  writeFileSync(kubeconfig, JSON.stringify(kubeconfigOf(url, ca, { token: adminToken })))
  const log = openLog({
    stream: createWriteStream(join(folder, 'devcluster.log')),
    format: 'text',
    verbosity: 4,
    clock: systemClock,
  })
  const directory = temporaryFolder('parity')
  const devcluster = await startDevcluster(
    {
      nodes: 0,
      controllers: name === 'ours' ? OUR_CONTROLLERS : [],
      binaries: { provisioner: executablesOf(ROOT, 'ours').provisioner },
      kubeconfig,
      directory,
      resyncMs: RESYNC_MS,
      clock: systemClock,
      log: log.log,
      onTrouble: (message) => {
        throw new Error(message)
      },
    },
    AbortSignal.timeout(60_000),
  )
  stack.defer(() => devcluster.stop())
  const life = new AbortController()
  const attacher = playAttacher(api, life.signal)
  stack.defer(async () => {
    life.abort(new CancelledError('the side is stopped'))
    await attacher
  })
  if (name === 'real') {
    const args = [
      `--pvclaimbinder-sync-period=${RESYNC_MS}ms`,
      `--attach-detach-reconcile-sync-period=${RESYNC_MS}ms`,
      '--v=4',
    ]
    const manager = await startControllerManager({ kubeconfig, folder, controllers: KUBERNETES_CONTROLLERS, args })
    stack.defer(() => stop(manager))
  }
  const started = stack.move()
  return {
    name,
    api,
    async sceneOf(id) {
      await api.create(NAMESPACES, { metadata: { name: id } })
      return { api, id, driver: devcluster.driver.name, name: (suffix) => `${id}-${suffix}` }
    },
    objects: () => objectsOf(api),
    stop: () => started.disposeAsync(),
  }
}

async function objectsOf(api: Api): Promise<Objects> {
  const [claims, volumes, attachments, pods, nodes, events] = await Promise.all([
    api.list(PERSISTENT_VOLUME_CLAIMS),
    api.list(PERSISTENT_VOLUMES),
    api.list(VOLUME_ATTACHMENTS),
    api.list(PODS),
    api.list(NODES),
    api.list(EVENTS),
  ])
  return { claims, volumes, attachments, pods, nodes, events }
}

const FINALIZER = 'external-attacher/parity'
const PERIOD_MS = 100

/**
 * Simulates an external-attacher. The volume's handle selects the result: with `refused` an attach fails, with `slow`
 * it never ends, and with `stuck` the volume is never detached.
 */
async function playAttacher(api: Api, signal: AbortSignal): Promise<void> {
  await repeat(PERIOD_MS, async () => {
    for (const attachment of await api.list(VOLUME_ATTACHMENTS)) await serve(attachment, api)
    return !signal.aborted
  })
}

async function serve({ metadata, spec, status }: VolumeAttachment, api: Api): Promise<void> {
  const name = metadata?.name ?? ''
  const ref = { name }
  const handle = await handleOf(spec.source.persistentVolumeName, api)
  try {
    if (metadata?.deletionTimestamp != null) {
      const patch = handle.includes('stuck') ? undefined : removeFinalizerPatch(metadata.finalizers, FINALIZER)
      if (patch !== undefined) await api.patch(VOLUME_ATTACHMENTS, ref, patch)
      return
    }
    if (status?.attached || status?.attachError != null || handle.includes('slow')) return
    if (!metadata?.finalizers?.includes(FINALIZER)) {
      await api.patch(VOLUME_ATTACHMENTS, ref, addFinalizerPatch(metadata?.finalizers, FINALIZER))
    }
    const refused = { attachError: { message: 'the driver refuses', time: '2026-01-01T00:00:00Z' } }
    const body = { status: handle.includes('refused') ? refused : { attached: true } }
    await api.merge(VOLUME_ATTACHMENTS, { ...ref, subresource: 'status' }, body)
  } catch (error) {
    // Another client has changed or deleted the attachment. The next pass reads it again.
    if (!(error instanceof ApiRefusal)) throw error
  }
}

async function handleOf(pvName: string | undefined | null, api: Api): Promise<string> {
  const volume = pvName ? await api.find(PERSISTENT_VOLUMES, { name: pvName }) : undefined
  return volume?.spec?.csi?.volumeHandle ?? ''
}
