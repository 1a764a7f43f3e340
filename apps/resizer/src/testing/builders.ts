import type { PersistentVolume, PersistentVolumeClaim, Pod, VolumeAttributesClass } from '@csi-sidecars/kube-types'

export const DRIVER = 'csi.example.com'
export const NAMESPACE = 'ns'
/** The key of the claim that the builders create, and references to the claim and to its volume. */
export const KEY = 'ns/data'
export const CLAIM_REF = { namespace: NAMESPACE, name: 'data' }
export const VOLUME_REF = { name: 'pv-data' }

type Status = NonNullable<PersistentVolumeClaim['status']>

/** The fields in which a claim differs from the default of `claim`. Sizes are Kubernetes quantities, such as `2Gi`. */
export interface ClaimFields {
  readonly name?: string
  readonly uid?: string
  readonly request?: string
  /** The capacity in the status. Null: the claim has no capacity. */
  readonly capacity?: string | null
  readonly allocated?: string
  readonly sizeStatus?: string
  readonly wantedClass?: string
  readonly annotations?: Record<string, string>
  readonly status?: Partial<Status>
}

/** The fields in which a PersistentVolume differs from the default of `volume`. */
export interface VolumeFields {
  readonly name?: string
  readonly capacity?: string
  readonly driver?: string
  readonly annotations?: Record<string, string>
  readonly spec?: PersistentVolume['spec']
  /** The UID of the claim that the volume is bound to. */
  readonly uid?: string
  /** The UID of the PersistentVolume. */
  readonly ownUid?: string
  readonly handle?: string
}

/** Returns a bound claim with a request and a capacity of 1Gi, and with the given changes. */
export function claim(fields: ClaimFields = {}): PersistentVolumeClaim {
  const { name = 'data', request = '1Gi', capacity = '1Gi', allocated, sizeStatus, wantedClass, annotations } = fields
  return {
    apiVersion: 'v1',
    kind: 'PersistentVolumeClaim',
    metadata: { namespace: NAMESPACE, name, uid: fields.uid ?? `uid-${name}`, ...(annotations && { annotations }) },
    spec: {
      volumeName: `pv-${name}`,
      resources: { requests: { storage: request } },
      ...(wantedClass !== undefined && { volumeAttributesClassName: wantedClass }),
    },
    status: {
      phase: 'Bound',
      ...(capacity !== null && { capacity: { storage: capacity } }),
      ...(allocated !== undefined && { allocatedResources: { storage: allocated } }),
      ...(sizeStatus !== undefined && { allocatedResourceStatuses: { storage: sizeStatus } }),
      ...fields.status,
    },
  }
}

/** Returns a volume of our driver that is bound to the claim of the same name, with the given changes. */
export function volume(fields: VolumeFields = {}): PersistentVolume {
  const { name = 'data', capacity = '1Gi', driver = DRIVER, annotations } = fields
  const { ownUid = `uid-pv-${name}`, handle = `handle-${name}` } = fields
  return {
    apiVersion: 'v1',
    kind: 'PersistentVolume',
    metadata: { name: `pv-${name}`, uid: ownUid, ...(annotations && { annotations }) },
    spec: {
      capacity: { storage: capacity },
      accessModes: ['ReadWriteOnce'],
      claimRef: { namespace: NAMESPACE, name, uid: fields.uid ?? `uid-${name}` },
      csi: { driver, volumeHandle: handle },
      ...fields.spec,
    },
  }
}

export function attributesClass(
  name: string,
  parameters: Record<string, string> = { iops: name },
): VolumeAttributesClass {
  return {
    apiVersion: 'storage.k8s.io/v1',
    kind: 'VolumeAttributesClass',
    metadata: { name, uid: `uid-${name}` },
    driverName: DRIVER,
    parameters,
  }
}

export function pod(name: string, claimName: string, phase = 'Running'): Pod {
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { namespace: NAMESPACE, name, uid: `uid-${name}` },
    spec: { containers: [], volumes: [{ name: 'v', persistentVolumeClaim: { claimName } }] },
    status: { phase },
  }
}
