import {
  PERSISTENT_VOLUME_CLAIMS,
  type PersistentVolumeClaim,
  type Pod,
  type Resource,
  type StorageClass,
  VOLUME_SNAPSHOTS,
  type VolumeAttributesClass,
} from '@csi-sidecars/kube-types'
import type { ChaosAction, Zone } from './action.ts'
import { inDefault } from './converge.ts'

const CLASS = 'chaos'

interface ClassOptions {
  readonly provisioner: string
  readonly parameters: Readonly<Record<string, string>> | undefined
  readonly zones: readonly Zone[]
}

/** Returns the StorageClass of all claims, and one for each zone. */
export function classObjects({ provisioner, parameters, zones }: ClassOptions): readonly StorageClass[] {
  const usual = {
    provisioner,
    allowVolumeExpansion: true,
    ...(parameters !== undefined && { parameters: { ...parameters } }),
  }
  const inZones = zones.map(({ segments }, zone) => ({
    ...usual,
    metadata: { name: classOf(zone) },
    allowedTopologies: [
      { matchLabelExpressions: Object.entries(segments).map(([key, value]) => ({ key, values: [value] })) },
    ],
  }))
  return [{ ...usual, metadata: { name: CLASS } }, ...inZones]
}

/** A VolumeAttributesClass parameter that every driver must refuse. */
export const UNKNOWN_ATTRIBUTES = { 'csi-devcluster-unknown': '1' }

/** Returns a VolumeAttributesClass for each accepted set of parameters, and one that the driver must refuse. */
export function attributesClasses(
  driverName: string,
  attributes: readonly Readonly<Record<string, string>>[],
): readonly VolumeAttributesClass[] {
  if (attributes.length === 0) return []
  return [...attributes, UNKNOWN_ATTRIBUTES].map((parameters, index) => ({
    metadata: { name: attributesClassOf(index) },
    driverName,
    parameters: { ...parameters },
  }))
}

export function attributesClassOf(index: number): string {
  return `${CLASS}-attributes-${index + 1}`
}

export function snapshotClass(driver: string) {
  return { metadata: { name: CLASS }, driver, deletionPolicy: 'Delete' as const }
}

export function snapshotOf(snapshot: string, persistentVolumeClaimName: string) {
  const spec = { source: { persistentVolumeClaimName }, volumeSnapshotClassName: CLASS }
  return { metadata: inDefault(snapshot), spec }
}

function classOf(zone: number | undefined): string {
  return zone === undefined ? CLASS : `${CLASS}-${zone + 1}`
}

export function claimOf(action: Extract<ChaosAction, { kind: 'createClaim' }>): PersistentVolumeClaim {
  const { claim, size, shared, block, from, restores, zone } = action
  return {
    metadata: inDefault(claim),
    spec: {
      accessModes: [shared ? 'ReadWriteMany' : 'ReadWriteOnce'],
      storageClassName: classOf(zone),
      ...(block === true && { volumeMode: 'Block' }),
      ...(from !== undefined && sourceOf(from, restores === true ? VOLUME_SNAPSHOTS : PERSISTENT_VOLUME_CLAIMS)),
      resources: { requests: { storage: `${size}Gi` } },
    },
    status: { phase: 'Pending' },
  }
}

/** Returns both fields for the source: the emulated API server adds a missing field only for HTTP clients. */
function sourceOf(name: string, { group, kind }: Resource<object>) {
  const source = { ...(group !== '' && { apiGroup: group }), kind, name }
  return { dataSource: source, dataSourceRef: source }
}

interface PodParts {
  readonly pod: string
  readonly node: string
  readonly volume: Omit<NonNullable<NonNullable<Pod['spec']>['volumes']>[number], 'name'>
  readonly block: boolean
}

export function podOf({ pod, node, volume, block }: PodParts): Pod {
  const use = block
    ? { volumeDevices: [{ name: 'data', devicePath: '/dev/data' }] }
    : { volumeMounts: [{ name: 'data', mountPath: '/data' }] }
  return {
    metadata: inDefault(pod),
    spec: {
      nodeName: node,
      containers: [{ name: 'main', image: 'none', ...use }],
      volumes: [{ name: 'data', ...volume }],
    },
    status: { phase: 'Pending' },
  }
}
