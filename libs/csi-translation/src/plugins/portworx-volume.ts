import type { PersistentVolume } from '@csi-sidecars/kube-types'
import { csiSource, fsTypeAndReadOnly, secretReference } from '../rules/csi-source.ts'
import { createPlugin, type VolumeSource } from '../rules/plugin.ts'
import { type ParameterRule, withParameters } from '../rules/storage-class.ts'

const DRIVER = 'pxd.portworx.com'
const SECRET_NAME = 'openstorage.io/auth-secret-name'
const SECRET_NAMESPACE = 'openstorage.io/auth-secret-namespace'
const OPERATIONS = [
  'provisioner',
  'controller-publish',
  'node-publish',
  'node-stage',
  'controller-expand',
  'node-expand',
]

export const portworxVolume = createPlugin({
  inTreeName: 'kubernetes.io/portworx-volume',
  driverName: DRIVER,
  field: 'portworxVolume',
  volumeToCsi: (source, pv) => ({ csi: { ...csiOf(source), ...secretsOf(pv) } }),
  inlineToCsi: (source) => ({ csi: csiOf(source), accessMode: source.readOnly ? 'ReadOnlyMany' : 'ReadWriteOnce' }),
  volumeToInTree: (csi) => ({ source: { volumeID: csi.volumeHandle, ...fsTypeAndReadOnly(csi) } }),
  classToCsi: (storageClass) => ({ ...withParameters(storageClass, parameterToCsi), provisioner: DRIVER }),
})

/** Returns the CSI source without `readOnly`, because the access mode contains it. */
function csiOf({ volumeID, fsType }: VolumeSource<'portworxVolume'>) {
  return csiSource({ driver: DRIVER, volumeHandle: volumeID, fsType })
}

/** Returns the Secret references for all calls, if the annotations of the volume name a Secret and its namespace. */
function secretsOf(pv: PersistentVolume) {
  const annotations = pv.metadata?.annotations ?? {}
  if (!Object.hasOwn(annotations, SECRET_NAME) || !Object.hasOwn(annotations, SECRET_NAMESPACE)) return {}
  const secret = secretReference(annotations[SECRET_NAME], annotations[SECRET_NAMESPACE])
  return {
    controllerPublishSecretRef: secret,
    nodeStageSecretRef: secret,
    nodePublishSecretRef: secret,
    controllerExpandSecretRef: secret,
    nodeExpandSecretRef: secret,
  }
}

const parameterToCsi: ParameterRule = (key, parameter) => {
  if (key === SECRET_NAME) return secretParameters('name', parameter[1])
  if (key === SECRET_NAMESPACE) return secretParameters('namespace', parameter[1])
  return [parameter]
}

function secretParameters(part: string, value: string): [string, string][] {
  return OPERATIONS.map((operation) => [`csi.storage.k8s.io/${operation}-secret-${part}`, value])
}
