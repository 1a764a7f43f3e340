import { expect, it } from '@jest/globals'
import { translateInTreeInlineVolumeToCSI, translateInTreePVToCSI } from '../translate.ts'

const portworxVolume = { volumeID: 'id', readOnly: true }
const NAME = 'openstorage.io/auth-secret-name'
const NAMESPACE = 'openstorage.io/auth-secret-namespace'
const csi = { driver: 'pxd.portworx.com', volumeHandle: 'id' }
const csiOf = (annotations: { [key: string]: string }) =>
  translateInTreePVToCSI({ metadata: { annotations }, spec: { portworxVolume } }).spec?.csi

it.each([[{}], [{ [NAME]: 's' }], [{ [NAMESPACE]: 'ns' }]])('%j adds no Secret reference', (annotations) => {
  expect(csiOf(annotations)).toEqual(csi)
})

it('adds the Secret in the annotations to all calls', () => {
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

it('adds an empty Secret reference for empty annotations', () => {
  expect(csiOf({ [NAME]: '', [NAMESPACE]: '' })?.controllerPublishSecretRef).toEqual({})
})

it('a read-only volume of a pod has the access mode ReadOnlyMany', () => {
  expect(translateInTreeInlineVolumeToCSI({ name: 'v', portworxVolume }, '').spec).toEqual({
    csi,
    accessModes: ['ReadOnlyMany'],
    volumeMode: 'Filesystem',
  })
})
