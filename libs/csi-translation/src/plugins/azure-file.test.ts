import type { PersistentVolumeSpec } from '@csi-sidecars/kube-types'
import { describe, expect, it } from '@jest/globals'
import { translateCSIPVToInTree, translateInTreePVToCSI } from '../translate.ts'
import { azureFileAccountName, azureFileShareInfo } from './azure-file.ts'

type Source = NonNullable<PersistentVolumeSpec['azureFile']>
const GROUP = 'kubernetes.io/azure-file-resource-group'

describe('a share', () => {
  it.each<[name: string, source: Source, claim: string | undefined, handle: string]>([
    ["the secret's namespace", { secretName: 's', shareName: 'x', secretNamespace: 'ns' }, 'claim', '#s#x#pv#ns'],
    ["the claim's namespace", { secretName: 's', shareName: 'x' }, 'claim', '#s#x#pv#claim'],
    [
      'the account in the name of the secret',
      { secretName: 'azure-storage-account-a-secret-secret', shareName: 'x' },
      'claim',
      '#a-secret#x#pv#claim',
    ],
  ])('the handle of an Azure file share contains %s', (_what, azureFile, namespace, handle) => {
    const spec = { azureFile, claimRef: { namespace } }
    expect(translateInTreePVToCSI({ metadata: { name: 'pv' }, spec }).spec?.csi?.volumeHandle).toBe(handle)
  })

  it.each<[name: string, source: Source, namespace: string | undefined]>([
    ['no namespace', { secretName: 's', shareName: 'x' }, undefined],
    ['an empty namespace, even with a claim', { secretName: 's', shareName: 'x', secretNamespace: '' }, 'claim'],
  ])('an Azure file share cannot be translated with %s for its Secret', (_what, azureFile, namespace) => {
    expect(() => translateInTreePVToCSI({ spec: { azureFile, claimRef: { namespace } } })).toThrow(
      expect.objectContaining({
        code: 'AZURE_FILE_NO_SECRET_NAMESPACE',
        message: 'could not find a secret namespace in PersistentVolumeSource or ClaimRef',
      }),
    )
  })

  it('the handle of an Azure file share contains its resource group', () => {
    const azureFile = { secretName: 's', shareName: 'x', secretNamespace: 'ns' }
    const pv = { metadata: { name: 'pv', annotations: { [GROUP]: 'rg' } }, spec: { azureFile } }
    expect(translateInTreePVToCSI(pv).spec?.csi?.volumeHandle).toBe('rg#s#x#pv#ns')
  })
})

describe('translation back', () => {
  const back = (csi: object) =>
    translateCSIPVToInTree({ spec: { csi: { driver: 'file.csi.azure.com', volumeHandle: 'rg#a#share', ...csi } } })

  it('the translation from CSI to an Azure share prefers the Secret for nodes to the Secret in the attributes', () => {
    const volumeAttributes = { shareName: 'x', secretName: 'other', secretNamespace: 'other' }
    const pv = back({ volumeAttributes, nodeStageSecretRef: { name: 's', namespace: 'ns' } })
    expect(pv.spec?.azureFile).toEqual({ shareName: 'x', secretName: 's', secretNamespace: 'ns' })
    expect(pv.metadata?.annotations).toBeUndefined()
  })

  it('the translation from CSI to an Azure share ignores a Secret reference without a name', () => {
    const pv = back({ volumeAttributes: { sharename: 'x' }, nodeStageSecretRef: { namespace: 'ns' } })
    expect(pv.spec?.azureFile).toEqual({
      shareName: 'x',
      secretName: 'azure-storage-account-a-secret',
      secretNamespace: 'default',
    })
    expect(pv.metadata?.annotations).toEqual({ [GROUP]: 'rg' })
  })

  it('the translation from CSI to an Azure share refuses an invalid handle if attributes are missing', () => {
    expect(() => back({ volumeHandle: 'a"b#c' })).toThrow(
      expect.objectContaining({
        code: 'AZURE_FILE_HANDLE',
        message: 'error parsing volume id: "a\\"b#c", should at least contain two #',
      }),
    )
  })
})

it('the handle of an Azure share contains the resource group, the account, the share and an optional disk', () => {
  const info = { resourceGroup: 'rg', accountName: 'a', shareName: 's' }
  expect(azureFileShareInfo('rg#a#s')).toEqual({ ...info, diskName: '' })
  expect(azureFileShareInfo('rg#a#s#d#more')).toEqual({ ...info, diskName: 'd' })
})

it('the storage account is read from the name of an Azure Secret', () => {
  expect(azureFileAccountName('x-azure-storage-account-a-secret-y')).toBe('a')
  expect(() => azureFileAccountName('azure-storage-account--secret')).toThrow(
    expect.objectContaining({
      code: 'AZURE_FILE_ACCOUNT',
      message:
        'could not get account name from azure-storage-account--secret, correct format: azure-storage-account-(.+)-secret',
    }),
  )
})
