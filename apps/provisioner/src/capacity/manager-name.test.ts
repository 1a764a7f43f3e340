import { describe, expect, it } from '@jest/globals'
import { managerName } from './manager-name.ts'

describe('managerName', () => {
  it.each([
    [undefined, 'external-provisioner'],
    ['node', 'external-provisioner-node'],
    ['n'.repeat(42), `external-provisioner-${'n'.repeat(42)}`],
    ['n'.repeat(45), `external-53f40b57-${'n'.repeat(45)}`],
    ['n'.repeat(53), `external-provisioner-698d23b8`],
  ])('`managerName` derives the managed-by label from the node %s', (node, expected) => {
    expect(managerName(node)).toBe(expected)
  })
})
