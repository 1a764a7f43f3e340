import { PARAMETER_VALUES } from '@csi-sidecars/csi'
import { pvc } from '@csi-sidecars/testkit'
import { describe, expect, it } from '@jest/globals'
import { SELECTED_NODE } from '../caches/names.ts'
import { withoutSelectedNode, withParameterValues, withSelectedNode } from './patches.ts'

const BARE = { spec: {} }
const selected = (node: string) =>
  pvc('data', { metadata: { uid: 'u', annotations: { [SELECTED_NODE]: node, a: 'b' } } })
const annotated = (annotations: Readonly<Record<string, string>>) =>
  pvc('data', { metadata: { uid: 'u', finalizers: ['a/b'], annotations } })

describe('withoutSelectedNode', () => {
  it('the edit removes the selected node and keeps all other fields of the claim', () => {
    expect(withoutSelectedNode(annotated({ [SELECTED_NODE]: 'node-1', a: 'b' }))).toEqual(annotated({ a: 'b' }))
  })

  it('the edit returns a claim without a selected node as it is, so that nothing is written', () => {
    const claim = annotated({ a: 'b' })
    expect(withoutSelectedNode(claim)).toBe(claim)
    expect(withoutSelectedNode(BARE)).toBe(BARE)
  })
})

describe('withSelectedNode', () => {
  it('the edit adds the node and keeps all other fields of the claim', () => {
    expect(withSelectedNode('node-1')(annotated({ a: 'b' }))).toEqual(annotated({ [SELECTED_NODE]: 'node-1', a: 'b' }))
    expect(withSelectedNode('node-1')(BARE)).toEqual({
      ...BARE,
      metadata: { annotations: { [SELECTED_NODE]: 'node-1' } },
    })
  })

  it('the edit replaces an empty annotation', () => {
    expect(withSelectedNode('node-1')(selected(''))).toEqual(selected('node-1'))
  })

  it('the edit never replaces the node of the scheduler or of another process', () => {
    const claim = selected('node-2')
    expect(withSelectedNode('node-1')(claim)).toBe(claim)
  })
})

describe('withParameterValues', () => {
  it('the edit stores the values and keeps all other fields of the claim', () => {
    const stored = annotated({ [PARAMETER_VALUES]: 'new', a: 'b' })
    expect(withParameterValues('new')(annotated({ a: 'b' }))).toEqual(stored)
    expect(withParameterValues('new')(annotated({ [PARAMETER_VALUES]: 'old', a: 'b' }))).toEqual(stored)
    expect(withParameterValues('new')(BARE)).toEqual({
      ...BARE,
      metadata: { annotations: { [PARAMETER_VALUES]: 'new' } },
    })
  })

  it('the edit returns a claim with the same values as it is, so that nothing is written', () => {
    const claim = annotated({ [PARAMETER_VALUES]: 'new' })
    expect(withParameterValues('new')(claim)).toBe(claim)
  })
})
