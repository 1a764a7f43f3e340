import { describe, expect, it } from '@jest/globals'
import { secretRefOf, secretRefsOf } from './secrets.ts'

const TOKENS = { volume: 'pv-1', namespace: 'ns', claim: 'data', annotations: { 'example.com/key': 'marked' } }
/** Returns the text with `$` in place of `%`. */
const t = (text: string): string => text.replaceAll('%', '$')
const KEY = 'csi.storage.k8s.io/'
const pair = (name: string, namespace: string, use = 'provisioner-') => ({
  [`${KEY}${use}secret-name`]: name,
  [`${KEY}${use}secret-namespace`]: namespace,
})
const provisioner = (parameters: Record<string, string>) => secretRefOf('provisioner', parameters, TOKENS)

describe('secretRefOf', () => {
  it.each([
    ['a', 'b', 'a', 'b'],
    [t('%{pvc.name}'), t('%{pvc.namespace}'), 'data', 'ns'],
    [t('%{pv.name}'), t('%{pv.name}'), 'pv-1', 'pv-1'],
    ['x-$'.concat("{pvc.annotations['example.com/key']}.y"), 'ns', 'x-marked.y', 'ns'],
    [t('a%{}b'), 'ns', 'ab', 'ns'],
  ])('`secretRefOf` resolves the Secret name %s, namespace %s', (name, namespace, expectedName, expectedNamespace) => {
    expect(provisioner(pair(name, namespace))).toEqual({ name: expectedName, namespace: expectedNamespace })
  })

  it('`secretRefOf` accepts the deprecated keys csiProvisionerSecretName and csiProvisionerSecretNamespace', () => {
    expect(provisioner({ csiProvisionerSecretName: 'a', csiProvisionerSecretNamespace: 'b' })).toEqual({
      name: 'a',
      namespace: 'b',
    })
  })

  it('each kind of CSI call without its own Secret parameters uses the default Secret', () => {
    const refs = secretRefsOf({ ...pair('all', 'ns', ''), ...pair('one', 'ns', 'node-stage-') }, TOKENS)
    const all = { name: 'all', namespace: 'ns' }
    expect(refs).toEqual({
      provisioner: all,
      controllerPublish: all,
      nodeStage: { name: 'one', namespace: 'ns' },
      nodePublish: all,
      controllerExpand: all,
      nodeExpand: all,
      controllerModify: all,
    })
  })

  it('`secretRefOf` returns undefined if no parameter names a Secret', () => {
    expect(provisioner({})).toBeUndefined()
  })

  const FROM = 'failed to get name and namespace template from params: '
  it.each([
    [
      `${FROM}either name and namespace for Provisioner secrets specified, Both must be specified`,
      { [`${KEY}provisioner-secret-name`]: 'a' },
    ],
    [
      'failed to get default name and namespace template from params: either name and namespace for Default secrets specified, Both must be specified',
      { [`${KEY}secret-name`]: 'a' },
    ],
    [
      `${FROM}Provisioner secrets specified in parameters but value of either namespace or name is empty`,
      pair('', 'ns'),
    ],
    [
      `${FROM}Provisioner secrets specified in parameters with both "csi" and "csi.storage.k8s.io/" keys`,
      { ...pair('a', 'b'), csiProvisionerSecretName: 'c' },
    ],
    [t('error resolving value "%{x}%y": invalid tokens: ["x" "y"]'), pair(t('%{x}%y'), 'ns')],
    [t('error resolving value "%{pvc.name}": invalid tokens: ["pvc.name"]'), pair('a', t('%{pvc.name}'))],
    ['"A" is not a valid secret name', pair('A', 'ns')],
    ['"a.b" is not a valid namespace name', pair('a', 'a.b')],
    [t('"%{pv.name}_" resolved to "pv-1_" which is not a valid secret name'), pair(t('%{pv.name}_'), 'ns')],
  ])('`secretRefOf` fails with %s', (message, parameters) => {
    expect(() => provisioner(parameters as Record<string, string>)).toThrow(expect.objectContaining({ message }))
  })
})
