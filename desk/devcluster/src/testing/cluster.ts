import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { deadline, systemClock } from '@csi-sidecars/base'
import { until } from '@csi-sidecars/disturb'
import type { ApiServer, CsiDriver, DriverSettings } from '@csi-sidecars/emulator'
import type { Cached, Informer } from '@csi-sidecars/informer'
import {
  EVENTS,
  type ObjectRef,
  type Pod,
  type Resource,
  STORAGE_CLASSES,
  type StorageClass,
} from '@csi-sidecars/kube-types'
import { silentLogger } from '@csi-sidecars/telemetry'
import { type Devcluster, startDevcluster } from '../cluster/devcluster.ts'
import type { ControllerName } from '../cluster/start-controllers.ts'
import { type SubstituteName, startSubstitutes } from './substitutes.ts'

/** A whole cluster in this process for one test. Controllers of this process substitute the sidecars. */
export interface TestCluster extends AsyncDisposable {
  readonly cluster: Devcluster
  readonly api: ApiServer
  readonly driver: CsiDriver
  /** Resolves with the object as soon as it exists and `holds` returns true. */
  until<T>(resource: Resource<T>, ref: ObjectRef, holds: (object: T) => boolean): Promise<T>
  untilGone<T>(resource: Resource<T>, ref: ObjectRef): Promise<void>
  /** Resolves as soon as `holds` returns true for the list of all objects. `holds` is called after every change. */
  untilAll<T>(resource: Resource<T>, holds: (objects: readonly T[]) => boolean): Promise<void>
  /** Resolves as soon as the object is in the cache and `holds` returns true. */
  untilCached<T extends Cached>(informer: Informer<T, never>, key: string, holds: (object: T) => boolean): Promise<void>
  events(name: string): readonly string[]
}

/**
 * The differences of a test cluster from the default: two nodes, all controllers, and the API server's Kubernetes
 * version.
 */
export interface TestClusterOptions {
  readonly nodes?: number
  readonly controllers?: readonly ControllerName[]
  readonly kubernetesMinor?: number | undefined
  /** The sidecars for which substitutes run. Undefined: the attacher, the resizer and the provisioner. */
  readonly substitutes?: readonly SubstituteName[]
  /** True if the substitute for the provisioner, which is the real provisioner, replaces templates. */
  readonly hasParameterTemplates?: boolean
  /** Fields of the StorageClass `fast`. */
  readonly storageClass?: Partial<StorageClass>
  readonly driver?: Partial<DriverSettings>
  /** The name of a folder for real mounts, in the temporary folder of the test. */
  readonly data?: string | undefined
}

const TIMEOUT_MS = 15_000

export async function startTestCluster(options: TestClusterOptions = {}): Promise<TestCluster> {
  const { nodes = 2, controllers, kubernetesMinor, substitutes, storageClass, hasParameterTemplates } = options
  const { data: folder, driver: driverSettings } = options
  const directory = await mkdtemp(join(tmpdir(), 'devcluster-test-'))
  const troubles: string[] = []
  using limit = deadline(systemClock, TIMEOUT_MS, { operation: 'starting a cluster' })
  const cluster = await startDevcluster(
    {
      nodes,
      controllers,
      kubernetesMinor,
      driverSettings,
      hasParameterTemplates,
      keptRequests: 10_000,
      directory,
      data: folder && join(directory, folder),
      clock: systemClock,
      log: silentLogger,
      onTrouble: (text) => troubles.push(text),
    },
    limit.signal,
  )
  const { api, emulatedDriver: driver } = cluster
  if (api === undefined || driver === undefined) throw new Error('nothing is emulated')
  startSubstitutes(cluster, { clock: systemClock, log: silentLogger }, substitutes)
  const usual = { metadata: { name: 'fast' }, provisioner: driver.settings.name, allowVolumeExpansion: true }
  api.create(STORAGE_CLASSES, { ...usual, ...storageClass })
  return {
    cluster,
    api,
    driver,
    until: (resource, ref, holds) => api.until(resource, { ...ref, timeoutMs: TIMEOUT_MS }, holds),
    untilGone: (resource, ref) => api.untilGone(resource, { ...ref, timeoutMs: TIMEOUT_MS }),
    untilAll: (resource, holds) => untilAll(api, resource, holds),
    untilCached: (informer, key, holds) => untilCached(informer, key, holds),
    events: (name) =>
      api
        .list(EVENTS)
        .flatMap(({ involvedObject, reason, message }) =>
          involvedObject.name === name ? [`${reason}: ${message}`] : [],
        ),
    async [Symbol.asyncDispose]() {
      await cluster.stop()
      await rm(directory, { recursive: true, force: true })
      if (troubles.length > 0) throw new Error(troubles.join('\n'))
    },
  }
}

async function untilAll<T>(
  api: ApiServer,
  resource: Resource<T>,
  holds: (objects: readonly T[]) => boolean,
): Promise<void> {
  using limit = deadline(systemClock, TIMEOUT_MS, { operation: `waiting for ${resource.plural}` })
  await until(
    () => holds(api.list(resource)),
    (check) => api.onChange(resource, check),
    limit.signal,
  )
}

async function untilCached<T extends Cached>(
  informer: Informer<T, never>,
  key: string,
  holds: (object: T) => boolean,
): Promise<void> {
  const isSo = (): boolean => {
    const object = informer.store.get(key)
    return object !== undefined && holds(object)
  }
  using limit = deadline(systemClock, TIMEOUT_MS, { operation: `waiting for ${key} in the cache` })
  await until(isSo, (check) => informer.subscribe(check), limit.signal)
}

export function claimOf(
  name: string,
  change: { readonly size?: string; readonly modes?: string[]; readonly spec?: object } = {},
) {
  const { size = '1Gi', modes = ['ReadWriteOnce'], spec } = change
  return {
    metadata: { name, namespace: 'default' },
    spec: { accessModes: modes, storageClassName: 'fast', resources: { requests: { storage: size } }, ...spec },
  }
}

/** Returns a pod that mounts one claim, with changes to its spec. */
export function podWith(change: Partial<NonNullable<Pod['spec']>>, [name, node, claim]: Parameters<typeof podOf>): Pod {
  const pod = podOf(name, node, claim)
  return { ...pod, spec: { ...pod.spec, containers: pod.spec?.containers ?? [], ...change } }
}

/** Returns a pod that mounts one claim. */
export function podOf(name: string, node: string | undefined, claim: string): Pod {
  return {
    metadata: { name, namespace: 'default' },
    spec: {
      ...(node !== undefined && { nodeName: node }),
      containers: [{ name: 'main', image: 'none', volumeMounts: [{ name: 'data', mountPath: '/data' }] }],
      volumes: [{ name: 'data', persistentVolumeClaim: { claimName: claim } }],
    },
  }
}

export const inDefault = (name: string): ObjectRef => ({ namespace: 'default', name })

export const isRunning = ({ status }: Pod): boolean => status?.phase === 'Running'
