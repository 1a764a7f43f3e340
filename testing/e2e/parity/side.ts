import { createWriteStream, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { CancelledError, systemClock } from '@csi-sidecars/base'
import {
  EVENTS,
  NAMESPACES,
  NODES,
  PERSISTENT_VOLUME_CLAIMS,
  PERSISTENT_VOLUMES,
  PODS,
  VOLUME_ATTACHMENTS,
} from '@csi-sidecars/kube-types'
import { openLog } from '@csi-sidecars/telemetry'
import { startDevcluster } from '../../../apps/devcluster/src/cluster/devcluster.ts'
import type { ControllerName } from '../../../apps/devcluster/src/cluster/start-controllers.ts'
import type { Api } from '../harness/api/api.ts'
import { startControlPlane } from '../harness/api/control-plane.ts'
import { startControllerManager } from '../harness/api/controller-manager.ts'
import { kubeconfigOf } from '../harness/context.ts'
import { stop, temporaryFolder } from '../harness/process/processes.ts'
import { apiServer, executablesOf } from '../tools/binaries.ts'
import { playAttacher } from './attacher.ts'
import type { ScenarioSide } from './scenario.ts'
import type { Objects } from './view.ts'

const ROOT = join(import.meta.dirname, '../../..')

/** The resync period of both PV controllers. In Kubernetes it is 15 s. */
export const RESYNC_MS = 3000

/** A real API server with the controllers of one side. */
export interface Side {
  readonly name: 'real' | 'ours'
  readonly api: Api
  /** Creates the namespace and the objects of a scenario. */
  sceneOf(id: string): Promise<ScenarioSide>
  objects(): Promise<Objects>
  stop(): Promise<void>
}

export interface SideOptions {
  readonly binaries: string
  /** The folder of the logs. */
  readonly folder: string
}

const KUBERNETES_CONTROLLERS = [
  'persistentvolume-binder-controller',
  'persistentvolume-attach-detach-controller',
  'persistentvolume-expander-controller',
  'persistentvolume-protection-controller',
  'persistentvolumeclaim-protection-controller',
  'ephemeral-volume-controller',
  // It deletes the claims of pods that are gone.
  'garbage-collector-controller',
]

const OUR_CONTROLLERS = [
  'persistent-volume',
  'attach-detach',
  'ephemeral-volume',
  'expander',
] as const satisfies readonly ControllerName[]

/** Both sides have the same provisioner and the same attacher, which are not part of kube-controller-manager. */
export async function startSide(name: Side['name'], { binaries, folder: parent }: SideOptions): Promise<Side> {
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
      return { api, id, driver: devcluster.driver.name, name: (what) => `${id}-${what}` }
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
