import { describe, expect, it } from '@jest/globals'
import * as translation from './translate.ts'

describe('errors', () => {
  const odd = { metadata: { name: 'p"v' }, spec: { hostPath: { path: '/' } } }
  it.each<[message: string, code: string, operation: () => unknown]>([
    ['persistent volume was nil', 'NIL_OBJECT', () => translation.translateInTreePVToCSI(null)],
    [
      'could not find in-tree plugin translation logic for "p\\"v"',
      'NO_TRANSLATION_LOGIC',
      () => translation.translateInTreePVToCSI(odd),
    ],
    ['persistent volume was nil', 'NIL_OBJECT', () => translation.translateInTreeInlineVolumeToCSI(undefined, '')],
    [
      'could not find in-tree plugin translation logic for "v"',
      'NO_TRANSLATION_LOGIC',
      () => translation.translateInTreeInlineVolumeToCSI({ name: 'v' }, ''),
    ],
    ['CSI persistent volume was nil', 'NIL_OBJECT', () => translation.translateCSIPVToInTree(null)],
    ['CSI persistent volume was nil', 'NIL_OBJECT', () => translation.translateCSIPVToInTree(odd)],
    [
      'could not find in-tree plugin translation logic for constructor',
      'NO_TRANSLATION_LOGIC',
      () => translation.translateCSIPVToInTree({ spec: { csi: { driver: 'constructor', volumeHandle: 'h' } } }),
    ],
    [
      'could not find in-tree storage class parameter translation logic for "kubernetes.io/rbd"',
      'NO_TRANSLATION_LOGIC',
      () => translation.translateInTreeStorageClassToCSI('kubernetes.io/rbd', { provisioner: 'x' }),
    ],
    ['sc is nil', 'NIL_OBJECT', () => translation.translateInTreeStorageClassToCSI('kubernetes.io/aws-ebs', null)],
    [
      'could not find CSI Driver name for plugin ebs.csi.aws.com',
      'UNKNOWN_NAME',
      () => translation.csiNameFromInTreeName('ebs.csi.aws.com'),
    ],
    [
      'could not find In-Tree driver name for CSI plugin kubernetes.io/aws-ebs',
      'UNKNOWN_NAME',
      () => translation.inTreeNameFromCSIName('kubernetes.io/aws-ebs'),
    ],
    [
      'could not find In-Tree driver name for CSI plugin __proto__',
      'UNKNOWN_NAME',
      () => translation.repairVolumeHandle('__proto__', 'h', 'n'),
    ],
    [
      'could not find in-tree plugin name from persistent volume p"v',
      'NO_TRANSLATION_LOGIC',
      () => translation.inTreePluginNameFromSpec(odd, { name: 'v', cinder: { volumeID: 'x' } }),
    ],
    [
      'could not find in-tree plugin name from volume v',
      'NO_TRANSLATION_LOGIC',
      () => translation.inTreePluginNameFromSpec(null, { name: 'v' }),
    ],
    [
      'both persistent volume and volume are nil',
      'NIL_OBJECT',
      () => translation.inTreePluginNameFromSpec(undefined, null),
    ],
  ])('a failed translation throws the code and the message of the Go sidecars: %s', (message, code, operation) => {
    expect(operation).toThrow(expect.objectContaining({ name: 'TranslationError', code, message }))
  })
})

it('a volume is migratable if it has an in-tree volume source, even an empty one', () => {
  const { isPVMigratable, isInlineMigratable } = translation
  expect(isPVMigratable({ spec: { cinder: JSON.parse('{}') } })).toBe(true)
  expect(isPVMigratable({ spec: JSON.parse('{"cinder":null}') })).toBe(false)
  expect(isPVMigratable({ spec: { csi: { driver: 'ebs.csi.aws.com', volumeHandle: 'h' } } })).toBe(false)
  expect(isPVMigratable({})).toBe(false)
  expect(isPVMigratable(null)).toBe(false)
  expect(isInlineMigratable({ name: 'v', azureFile: { secretName: 's', shareName: 'x' } })).toBe(true)
  expect(isInlineMigratable({ name: 'v', emptyDir: {} })).toBe(false)
})

it('the repair of volume handles changes only handles of GCE disks', () => {
  for (const driver of ['ebs.csi.aws.com', 'cinder.csi.openstack.org', 'disk.csi.azure.com', 'pxd.portworx.com']) {
    expect(translation.repairVolumeHandle(driver, 'projects/UNSPECIFIED', 'n')).toBe('projects/UNSPECIFIED')
  }
})
