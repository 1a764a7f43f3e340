import { expect, it } from '@jest/globals'
import { classNameOf, type ProvisionerClaim } from './claim.ts'

const BETA = 'volume.beta.kubernetes.io/storage-class'

it.each([
  ['the annotation, even if the claim has the field', { [BETA]: 'beta' }, 'field', 'beta'],
  ['the annotation, even if it is empty', { [BETA]: '' }, 'field', ''],
  ['the annotation alone', { [BETA]: 'beta' }, undefined, 'beta'],
  ['the field', {}, 'field', 'field'],
  ['neither', {}, undefined, ''],
])('`classNameOf` reads the name of the class from %s', (_, annotations, classField, name) => {
  expect(classNameOf({ requestedVolume: { annotations }, classField } as unknown as ProvisionerClaim)).toBe(name)
})
