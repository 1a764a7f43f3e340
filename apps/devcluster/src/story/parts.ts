import type { Driver } from '@csi-sidecars/csi'
import type { KubeClient } from '@csi-sidecars/kube-client'
import type { Caches } from '../caches/caches.ts'

/** Where the story is set. */
export interface StoryParts {
  readonly client: KubeClient
  readonly caches: Pick<Caches, 'claims' | 'volumes'>
  readonly driver: Driver
}

/** A pod of the story and where it runs. */
export interface Placed {
  readonly pod: string
  readonly node: string
}
