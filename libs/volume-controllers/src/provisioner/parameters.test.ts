import { describe, expect, it } from '@jest/globals'
import { claim } from '../testing/objects.ts'
import { classParameters } from './parameters.ts'

const read = (parameters: Record<string, string>) => classParameters(parameters, claim(), 'pvc-1')

/** `$` and a name in braces, as a class writes it. */
const placeholder = (name: string): string => `$\{${name}}`

describe('classParameters', () => {
  it("keeps the provisioner's parameters from the driver", () => {
    const parameters = {
      type: 'ssd',
      fstype: 'xfs',
      'csi.storage.k8s.io/provisioner-secret-name': 's',
      'csi.storage.k8s.io/provisioner-secret-namespace': 'n',
    }
    expect(read(parameters)).toEqual({
      plain: { type: 'ssd' },
      fsType: 'xfs',
      secrets: { provision: { name: 's', namespace: 'n' } },
    })
  })

  it('prefers the new spelling of the file system', () => {
    expect(read({ fstype: 'xfs', 'csi.storage.k8s.io/fstype': 'ext4' }).fsType).toBe('ext4')
  })

  it('fills in claim and volume', () => {
    const start = 'csi.storage.k8s.io/node-publish-secret'
    const { secrets } = read({
      [`${start}-name`]: `${placeholder('pvc.name')}-of-${placeholder('pv.name')}`,
      [`${start}-namespace`]: placeholder('pvc.namespace'),
    })
    expect(secrets.nodePublish).toEqual({ name: 'data-of-pvc-1', namespace: 'default' })
  })

  it('refuses half a secret', () => {
    expect(() => read({ 'csi.storage.k8s.io/controller-expand-secret-name': 's' })).toThrow(
      'either name and namespace for controller-expand secrets specified, Both must be specified',
    )
  })
})
