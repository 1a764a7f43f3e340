import {
  NODES,
  PERSISTENT_VOLUME_CLAIMS,
  PERSISTENT_VOLUMES,
  type PersistentVolume,
  VOLUME_ATTACHMENTS,
} from '@csi-sidecars/kube-types'
import { attachmentName, uniqueVolumeName } from '@csi-sidecars/volume-controllers'
import { claimOf, type TestCluster } from './cluster.ts'

/** The volume in tests of one controller. Its claim is `data` and its PersistentVolume `pv-1`. */
export const VOLUME = { driver: 'csi.example.com', volumeHandle: 'vol-1' }
export const VOLUME_NAME = uniqueVolumeName(VOLUME)

export const attachmentOn = (node: string) => ({ name: attachmentName(VOLUME, node) })

/**
 * The fields in which a bound volume and its claim differ from the default. The default volume is `pv-1` of 1Gi with
 * the handle `vol-1`, and is ReadWriteOnce.
 */
export interface BoundVolumeOptions {
  readonly modes?: string[]
  readonly spec?: Partial<PersistentVolume['spec']>
  /** The name of the claim. The default is `data`. */
  readonly claim?: string
  readonly name?: string
  readonly volumeHandle?: string
}

/** Creates the volume in the driver, and a claim and a PersistentVolume that are bound to each other. */
export function addBoundVolume({ api, driver }: TestCluster, options: BoundVolumeOptions = {}): void {
  const { modes = ['ReadWriteOnce'], spec = {}, claim = 'data', name = 'pv-1' } = options
  const { volumeHandle = VOLUME.volumeHandle } = options
  driver.volumes.add({ id: volumeHandle, name, capacityBytes: 1024n ** 3n })
  const { metadata } = api.create(PERSISTENT_VOLUME_CLAIMS, {
    ...claimOf(claim, { modes, spec: { volumeName: name } }),
    status: { phase: 'Bound', accessModes: modes, capacity: { storage: '1Gi' } },
  })
  const volume: PersistentVolume = {
    metadata: { name },
    spec: {
      accessModes: modes,
      capacity: { storage: '1Gi' },
      csi: { ...VOLUME, volumeHandle },
      claimRef: { namespace: 'default', name: claim, uid: metadata?.uid },
      ...spec,
    },
    status: { phase: 'Bound' },
  }
  api.create(PERSISTENT_VOLUMES, volume)
}

export function setInUse({ api }: TestCluster, node: string, names: readonly string[]): void {
  api.update(NODES, { name: node }, (old) => ({ ...old, status: { ...old.status, volumesInUse: [...names] } }))
}

export function setAttached({ api }: TestCluster, node: string, names: readonly string[]): void {
  const volumesAttached = names.map((name) => ({ name, devicePath: '' }))
  api.update(NODES, { name: node }, (old) => ({ ...old, status: { ...old.status, volumesAttached } }))
}

/** Creates an attached VolumeAttachment and then lists the volume in the node's status, as the controllers would. */
export function attach(test: TestCluster, node: string): void {
  createAttachment(test, node)
  setAttached(test, node, [VOLUME_NAME])
}

/** Creates an attached VolumeAttachment. The Node may be missing. */
export function createAttachment({ api }: TestCluster, node: string): void {
  api.create(VOLUME_ATTACHMENTS, {
    metadata: attachmentOn(node),
    spec: { attacher: VOLUME.driver, nodeName: node, source: { persistentVolumeName: 'pv-1' } },
    status: { attached: true, attachmentMetadata: { device: '/dev/x' } },
  })
}
