import type { Driver } from '@csi-sidecars/csi'
import type { KubeClient } from '@csi-sidecars/kube-client'
import type { Caches } from '@csi-sidecars/volume-controllers'

/** The cluster that the story runs in. */
export interface StoryParts {
  readonly client: KubeClient
  readonly caches: Pick<Caches, 'claims' | 'volumes'>
  readonly driver: Driver
}

/** A pod of the story and its node. */
export interface Placed {
  readonly pod: string
  readonly node: string
}
