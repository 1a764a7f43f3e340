import { expect, it } from '@jest/globals'
import { translateInTreeInlineVolumeToCSI, translateInTreePVToCSI } from '../translate.ts'

const portworxVolume = { volumeID: 'id', readOnly: true }
const NAME = 'openstorage.io/auth-secret-name'
const NAMESPACE = 'openstorage.io/auth-secret-namespace'
const csi = { driver: 'pxd.portworx.com', volumeHandle: 'id' }
const csiOf = (annotations: { [key: string]: string }) =>
  translateInTreePVToCSI({ metadata: { annotations }, spec: { portworxVolume } }).spec?.csi

it.each([[{}], [{ [NAME]: 's' }], [{ [NAMESPACE]: 'ns' }]])('annotations %j name no secret', (annotations) => {
  expect(csiOf(annotations)).toEqual(csi)
})

it('all calls use one secret', () => {
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

it('a secret named by empty texts is still referenced', () => {
  expect(csiOf({ [NAME]: '', [NAMESPACE]: '' })?.controllerPublishSecretRef).toEqual({})
})

it("the access mode makes a pod's volume read-only", () => {
  expect(translateInTreeInlineVolumeToCSI({ name: 'v', portworxVolume }, '').spec).toEqual({
    csi,
    accessModes: ['ReadOnlyMany'],
    volumeMode: 'Filesystem',
  })
})
