import { caughtUp, type Run } from '@csi-sidecars/controller'
import type { Driver } from '@csi-sidecars/csi'
import type { InformerEvent } from '@csi-sidecars/informer'
import { inUseList } from '../attach-detach/node-status.ts'
import { PODS_BY_CLAIM, PODS_BY_NODE } from '../caches/caches.ts'
import type { CachedNode } from '../caches/node.ts'
import type { CachedPod } from '../caches/pod.ts'
import { claimKeyOf } from '../caches/volume.ts'
import { type ControllerParts, KeyInbox, type Life, periodically, runWorks } from '../control.ts'
import { ActualStateOfWorld } from './actual-state.ts'
import { DesiredStateOfWorld } from './desired-state.ts'
import type { Disk } from './disk.ts'
import { type MountParts, reconcileMount } from './mount.ts'
import type { NodeParts } from './node-parts.ts'
import type { Paths } from './paths.ts'
import { type PodParts, populate, reconcilePod } from './pods.ts'
import { showsAnew } from './show-anew.ts'

/** One node's kubelet, as far as volumes go: what it has besides the parts that all share. */
export interface NodeOptions {
  readonly node: string
  readonly disk: Disk
  readonly paths: Paths
  /** Its own node service; without it the one that all have. */
  readonly driver?: Driver | undefined
}

export type VolumeManagerParts = ControllerParts & { readonly driver: Driver }

const VOLUME_WORKERS = 8
const POD_WORKERS = 4
/** How often a kubelet looks at each pod again. */
const SHOW_ANEW_MS = 60_000

/** One node's half of the work: mounts what its pods want and says so, until the end of its life. */
class VolumeManager {
  readonly #node: string
  readonly #parts: NodeParts
  readonly #volumes = new KeyInbox()
  readonly #pods = new KeyInbox()
  /** The keys of the pods that are or were here; a pod that is gone is known by its uid only. */
  readonly #podKeys = new Map<string, string>()
  readonly #removed = new Set<string>()

  constructor(parts: VolumeManagerParts, { node, disk, paths, driver = parts.driver }: NodeOptions) {
    this.#node = node
    const desired = new DesiredStateOfWorld()
    const actual = new ActualStateOfWorld()
    for (const record of disk.records()) actual.restore(record)
    const { client, caches } = parts
    const inUse = inUseList({ client, nodes: caches.nodes }, () => usedVolumes(desired, actual))
    this.#parts = { ...parts, driver, node, disk, paths, desired, actual, inUse }
  }

  async run(life: Life): Promise<void> {
    const { caches, actual } = this.#parts
    const podParts: PodParts = {
      ...this.#parts,
      lookAtVolume: (name) => this.#volumes.add(name),
      removed: this.#removed,
    }
    // All pods first: what is mounted and wanted by a pod that was not looked at yet must not be unmounted.
    for (const pod of caches.pods.store.byIndex(PODS_BY_NODE, this.#node)) {
      populate(pod, podParts)
      this.onPod({ type: 'added', object: pod })
    }
    for (const volumeName of [...actual.volumeNames(), ...this.#reported()]) this.#volumes.add(volumeName)
    const mountParts: MountParts = { ...this.#parts, lookAtPod: (uid) => this.#lookAtPod(uid) }
    const works = [
      {
        of: 'pod',
        workers: POD_WORKERS,
        sources: [this.#pods.source],
        reconcile: (key: string, { signal }: Run) => reconcilePod(key, podParts, signal),
      },
      {
        of: 'volume',
        workers: VOLUME_WORKERS,
        sources: [this.#volumes.source],
        reconcile: (key: string, { signal }: Run) => reconcileMount(key, mountParts, signal),
      },
    ]
    await runWorks(works, { clock: this.#parts.clock, log: this.#parts.log }, life)
  }

  /** What the node's status calls in use: some of it may be left over from an earlier life. */
  #reported(): readonly string[] {
    return this.#parts.caches.nodes.store.get(this.#node)?.volumesInUse ?? []
  }

  onPod(event: InformerEvent<CachedPod>): void {
    const pod = event.type === 'updated' ? event.after : event.object
    if (event.type === 'deleted') {
      this.#podKeys.delete(pod.uid)
      this.#removed.delete(pod.uid)
      for (const volumeName of this.#parts.desired.deletePod(pod.uid)) this.#volumes.add(volumeName)
    } else {
      this.#podKeys.set(pod.uid, pod.key)
      this.#pods.add(pod.key)
    }
  }

  /** Something that the pod depends on has changed. */
  lookAt({ key, uid }: CachedPod): void {
    this.#pods.add(key)
    for (const volumeName of this.#parts.desired.volumesOf(uid)) this.#volumes.add(volumeName)
  }

  /** The status tells what was attached meanwhile. */
  onNode(node: CachedNode): void {
    const attached = new Set(node.volumesAttached.map(({ name }) => name))
    const { desired, actual } = this.#parts
    for (const volumeName of desired.attachable()) {
      if (attached.has(volumeName) && actual.get(volumeName)?.attached !== true) this.#volumes.add(volumeName)
    }
  }

  /** Contents change, and some drivers want to be told of each mount again and again. */
  showAnew(): void {
    const { desired, actual, caches } = this.#parts
    for (const source of desired.sources()) {
      const wants = showsAnew(source, (name) => caches.drivers.store.get(name)?.requiresRepublish === true)
      if (wants && actual.markStale(source.volumeName)) this.#volumes.add(source.volumeName)
    }
  }

  #lookAtPod(uid: string): void {
    const key = this.#podKeys.get(uid)
    if (key !== undefined) this.#pods.add(key)
  }
}

/** What must not be detached: what is wanted and may be used any moment, and what has not been unmounted. */
function usedVolumes(desired: DesiredStateOfWorld, actual: ActualStateOfWorld): readonly string[] {
  const names = new Set(desired.attachable())
  for (const volumeName of actual.volumeNames()) {
    const source = actual.get(volumeName)?.source
    if (source?.is === 'csi' && source.attach) names.add(volumeName)
  }
  return [...names].sort()
}

/** The kubelets' half for a set of nodes. One subscription a cache serves them all. */
export async function runVolumeManagers(
  parts: VolumeManagerParts,
  nodes: readonly NodeOptions[],
  life: Life,
): Promise<void> {
  const { caches, clock } = parts
  const lead = { ...life, assertLeading: () => undefined, soleSince: clock.monotonic() }
  if (!(await caughtUp([caches.pods, caches.nodes], lead))) return
  const managers = new Map(nodes.map((options) => [options.node, new VolumeManager(parts, options)]))
  const podsOfClaim = (claimKey: string): void => {
    for (const pod of caches.pods.store.byIndex(PODS_BY_CLAIM, claimKey)) managers.get(pod.nodeName)?.lookAt(pod)
  }
  const undo = [
    caches.pods.subscribe((event) => {
      const pod = event.type === 'updated' ? event.after : event.object
      managers.get(pod.nodeName)?.onPod(event)
    }),
    caches.nodes.subscribe((event) => {
      if (event.type === 'deleted') return
      const node = event.type === 'updated' ? event.after : event.object
      managers.get(node.key)?.onNode(node)
    }),
    caches.claims.subscribe((event) => {
      if (event.type !== 'deleted') podsOfClaim(event.type === 'updated' ? event.after.key : event.object.key)
    }),
    caches.volumes.subscribe((event) => {
      const volume = event.type === 'updated' ? event.after : event.object
      if (event.type !== 'deleted' && volume.claimRef !== undefined) podsOfClaim(claimKeyOf(volume.claimRef))
    }),
    // Whether volumes are attached at all is up to it.
    caches.drivers.subscribe(() => {
      for (const pod of caches.pods.store.values()) managers.get(pod.nodeName)?.lookAt(pod)
    }),
  ]
  const rest = periodically(clock, SHOW_ANEW_MS, () => {
    for (const manager of managers.values()) manager.showAnew()
  })
  try {
    await Promise.all([...managers.values()].map((manager) => manager.run(life)))
  } finally {
    for (const each of [rest, ...undo]) each()
  }
}
