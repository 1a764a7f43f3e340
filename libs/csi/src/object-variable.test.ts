import { describe, expect, it } from '@jest/globals'
import { objectVariable } from './object-variable.ts'
import { UnknownVariableError } from './parameter-template.ts'

const CLAIM = {
  prefix: 'pvc',
  name: 'data',
  namespace: 'shop',
  entries: (map: 'labels' | 'annotations') => (map === 'labels' ? { 'example.com/team': 'web' } : undefined),
}

describe('objectVariable', () => {
  it.each([
    ['pvc.name', 'data'],
    ['pvc.namespace', 'shop'],
    ["pvc.labels['example.com/team']", 'web'],
    ["pvc.labels['owner']", undefined],
    ["pvc.labels['constructor']", undefined],
    ["pvc.annotations['example.com/team']", undefined],
  ])('the value of the variable %s of a claim is %s', (variable, value) => {
    expect(objectVariable(variable, CLAIM)).toBe(value)
  })

  it.each(['pvc.uid', 'pvc.labels', "pvc.status['a']", 'pv.name', 'pvcx.name'])(
    'the variable %s is unknown to a claim',
    (variable) => {
      expect(() => objectVariable(variable, CLAIM)).toThrow(UnknownVariableError)
    },
  )
})
