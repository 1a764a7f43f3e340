import { describe, expect, it } from '@jest/globals'
import { parameterRecord, recordedValues } from './parameter-record.ts'

const LABEL = "pvc.labels['team']:-none"

describe('parameterRecord', () => {
  it('keeps labels and annotations with their UID, and leaves out names, which never change', () => {
    const text = parameterRecord('u1', { 'pvc.name': 'data', [LABEL]: null, "pvc.annotations['a']": 'b' })
    expect(JSON.parse(text ?? '')).toEqual({ uid: 'u1', values: { [LABEL]: null, "pvc.annotations['a']": 'b' } })
  })

  it('returns nothing if all values are names', () => {
    expect(parameterRecord('u1', { 'pvc.name': 'data' })).toBeUndefined()
  })
})

describe('recordedValues', () => {
  it('returns the recorded values of the object with this UID', () => {
    const values = { [LABEL]: 'storage', "pvc.labels['missing']:-x": null }
    expect(recordedValues(parameterRecord('u1', values), 'u1')).toEqual(values)
  })

  it('leaves out values that are no text', () => {
    const values = { [LABEL]: 7, "pvc.labels['a']": ['b'], "pvc.labels['c']": 'd' }
    expect(recordedValues(JSON.stringify({ uid: 'u1', values }), 'u1')).toEqual({ "pvc.labels['c']": 'd' })
  })

  it.each([
    ['absent', undefined],
    ['of another object', JSON.stringify({ uid: 'u2', values: { [LABEL]: 'storage' } })],
    ['without a UID', JSON.stringify({ values: { [LABEL]: 'storage' } })],
    ['without values', '{"uid":"u1"}'],
    ['with values that are null', '{"uid":"u1","values":null}'],
    ['null', 'null'],
    ['no JSON', '{'],
  ])('returns nothing for an annotation that is %s', (_, text) => {
    expect(recordedValues(text, 'u1')).toBeUndefined()
  })
})
