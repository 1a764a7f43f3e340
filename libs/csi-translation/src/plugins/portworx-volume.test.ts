import { expect, it } from '@jest/globals'
import { translateInTreeInlineVolumeToCSI, translateInTreePVToCSI } from '../translate.ts'

const portworxVolume = { volumeID: 'id', readOnly: true }
const NAME = 'openstorage.io/auth-secret-name'
const NAMESPACE = 'openstorage.io/auth-secret-namespace'
const csi = { driver: 'pxd.portworx.com', volumeHandle: 'id' }
const csiOf = (annotations: { [key: string]: string }) =>
  translateInTreePVToCSI({ metadata: { annotations }, spec: { portworxVolume } }).spec?.csi

it.each([[{}], [{ [NAME]: 's' }], [{ [NAMESPACE]: 'ns' }]])('Portworx annotations %j add no Secret', (annotations) => {
  expect(csiOf(annotations)).toEqual(csi)
})

it('a Portworx volume with a Secret in its annotations uses this Secret for all CSI calls', () => {
  const secret = { name: 's', namespace: 'ns' }
  expect(csiOf({ [NAME]: 's', [NAMESPACE]: 'ns' })).toEqual({
    ...csi,
    controllerPublishSecretRef: secret,
    nodeStageSecretRef: secret,
    nodePublishSecretRef: secret,
    controllerExpandSecretRef: secret,
    nodeExpandSecretRef: secret,
  })
})

it('a Portworx volume with empty annotations gets empty Secret references', () => {
  expect(csiOf({ [NAME]: '', [NAMESPACE]: '' })?.controllerPublishSecretRef).toEqual({})
})

it('a read-only Portworx volume that a pod declares inline gets the access mode ReadOnlyMany', () => {
  expect(translateInTreeInlineVolumeToCSI({ name: 'v', portworxVolume }, '').spec).toEqual({
    csi,
    accessModes: ['ReadOnlyMany'],
    volumeMode: 'Filesystem',
  })
})
