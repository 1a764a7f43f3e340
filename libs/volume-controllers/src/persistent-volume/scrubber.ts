import { type Pod, Quantity } from '@csi-sidecars/kube-types'
import type { Volume } from '../caches/volume.ts'

/**
 * The pod that empties a volume before another claim gets it. It has the name and the texts of kube-controller-manager.
 */

const NAMESPACE = 'default'
const PREFIX = 'recycler-for-'
const CONTAINER = 'pv-recycler'
const IMAGE = 'registry.k8s.io/build-image/debian-base:bookworm-v1.0.6'
const SCRIPT = 'test -e /scrub && find /scrub -mindepth 1 -delete && test -z "$(ls -A /scrub)" || exit 1'
const SECONDS_PER_GI = 30
const LEAST_SECONDS = { hostPath: 60, nfs: 300 } as const
const GI = 1n << 30n

export function isRecyclable({ inTree }: Pick<Volume, 'inTree'>): boolean {
  return inTree?.is === 'hostPath' || inTree?.is === 'nfs'
}

export function scrubberKey({ key }: Pick<Volume, 'key'>): string {
  return `${NAMESPACE}/${PREFIX}${key}`
}

/** Returns the volume that a pod of this name would scrub. */
export function volumeOfScrubber({ namespace, name }: { namespace: string; name: string }): string | undefined {
  return namespace === NAMESPACE && name.startsWith(PREFIX) ? name.slice(PREFIX.length) : undefined
}

export function scrubberOf({ key, capacity, inTree }: Volume): Pod {
  if (inTree?.is !== 'hostPath' && inTree?.is !== 'nfs') throw new TypeError(`${key} has nothing to scrub`)
  const source =
    inTree.is === 'nfs'
      ? { nfs: { server: inTree.server, path: inTree.path } }
      : { hostPath: { path: inTree.path, type: '' } }
  const seconds = Number(Quantity.parse(capacity).bytes() / GI) * SECONDS_PER_GI
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { namespace: NAMESPACE, name: `${PREFIX}${key}` },
    spec: {
      activeDeadlineSeconds: Math.max(seconds, LEAST_SECONDS[inTree.is]),
      restartPolicy: 'Never',
      volumes: [{ name: 'vol', ...source }],
      containers: [
        {
          name: CONTAINER,
          image: IMAGE,
          command: ['/bin/sh'],
          args: ['-c', SCRIPT],
          volumeMounts: [{ name: 'vol', mountPath: '/scrub' }],
        },
      ],
    },
  }
}
