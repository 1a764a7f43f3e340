import type { Clock } from '@csi-sidecars/base'
import type { KubeClient } from '@csi-sidecars/kube-client'
import type { KubeObject } from '@csi-sidecars/kube-types'
import { type Cache, type CacheRegistry, cacheOf, ServedKinds } from '@csi-sidecars/sidecar'
import type { Logger } from '@csi-sidecars/telemetry'
import { CONTENT_INDEXES, type Content, projectClass, type SnapshotClass } from './caches/content.ts'
import { NODE_LABEL } from './caches/names.ts'
import type { ContentKind } from './content/kinds.ts'
import type { KindCaches } from './parts.ts'

/** The options of the caches of contents and classes. */
export interface CacheOptions {
  readonly client: KubeClient
  readonly caches: Pick<CacheRegistry, 'create' | 'add'>
  readonly driverName: string
  /** The node whose snapshot contents are cached. Undefined without `--node-deployment`. */
  readonly nodeName: string | undefined
  readonly resyncMs: number
  /** Wraps each cache before it runs. Default: no change. */
  readonly delay?: (cache: Cache) => Cache
  readonly clock: Clock
  readonly log: Logger
}

/** Opens the caches of one kind of snapshot contents and of their classes. They wait for missing CRDs. */
export function openCaches(kind: ContentKind, options: CacheOptions): KindCaches {
  const { caches, driverName, nodeName, resyncMs, clock, delay = (cache) => cache } = options
  const project = kind.project(driverName)
  // The API server does not apply the label selector to the answers of writes, which the cache learns.
  const isHere = ({ metadata }: KubeObject): boolean => !nodeName || metadata?.labels?.[NODE_LABEL] === nodeName
  const contents = caches.create<KubeObject, Content>({
    resource: kind.resource,
    project: (object, intern) => (isHere(object) ? project(object, intern) : undefined),
    indexes: CONTENT_INDEXES,
    labelSelector: nodeName === undefined ? undefined : `${NODE_LABEL}=${nodeName}`,
    resyncMs,
  })
  const classes = caches.create<KubeObject, SnapshotClass>({ resource: kind.classes, project: projectClass, resyncMs })
  const served = new ServedKinds({ ...options, resources: [kind.resource, kind.classes] })
  caches.add(delay(served.delayUntilServed(cacheOf(`${kind.resource.kind}s`, contents, clock))))
  caches.add(delay(served.delayUntilServed(cacheOf(`${kind.classes.kind}es`, classes, clock))))
  return { contents, classes }
}
