import type { KubeClient } from '@csi-sidecars/kube-client'
import type { Node } from '@csi-sidecars/kube-types'
import { beforeEach, describe, expect, it } from '@jest/globals'
import { type CachedNode, nodeProjection } from '../caches/node.ts'
import { inUseList, type StatusList } from './node-status.ts'

const NODE = 'node-1'
const NEVER = new AbortController().signal

/** The volumes that the node status should list. */
let inUse: readonly string[]
let writes: (readonly string[])[]
let cached: CachedNode
let loseAnswer: boolean
let list: StatusList

const nodeUsing = (volumesInUse: readonly string[]): Node => ({
  metadata: { name: NODE },
  status: { volumesInUse: [...volumesInUse] },
})

const client = {
  async patch(_resource: unknown, _ref: unknown, { body }: { body: { status: { volumesInUse: string[] } } }) {
    writes.push(body.status.volumesInUse)
    if (loseAnswer) throw new Error('EOF')
    return nodeUsing(body.status.volumesInUse)
  },
} as unknown as KubeClient

beforeEach(() => {
  inUse = []
  writes = []
  cached = nodeProjection(nodeUsing([]))
  loseAnswer = false
  const storeAnswer = (node: Node): CachedNode => {
    cached = nodeProjection(node)
    return cached
  }
  const store = { get: (name: string) => (name === NODE ? cached : undefined) }
  const nodes = { store, storeAnswer } as unknown as Parameters<typeof inUseList>[0]['nodes']
  list = inUseList({ client, nodes }, () => inUse)
})

const write = (): Promise<void> => list.write(NODE, NEVER)

describe('attachedList', () => {
  it('an unchanged list of attached volumes is written to a node status only once', async () => {
    inUse = ['a']
    await write()
    await write()
    expect(writes).toEqual([['a']])
    expect([list.says(NODE, 'a'), list.says(NODE, 'b')]).toEqual(['yes', 'no'])
  })

  it('the list of attached volumes is written after a start even if the cached node has the same list', async () => {
    expect(list.says(NODE, 'a')).toBe('perhaps')
    await write()
    expect(writes).toEqual([[]])
    expect(list.says(NODE, 'a')).toBe('no')
  })

  it('the list of attached volumes is written again if the answer to the last write was lost', async () => {
    inUse = ['a']
    await write()
    inUse = []
    loseAnswer = true
    await expect(write()).rejects.toThrow('EOF')
    expect(list.says(NODE, 'a')).toBe('perhaps')
    loseAnswer = false
    inUse = ['a']
    await write()
    expect(writes).toEqual([['a'], [], ['a']])
    expect(list.says(NODE, 'a')).toBe('yes')
  })

  it('the list of attached volumes is not written if the node is deleted', async () => {
    await list.write('node-2', NEVER)
    expect(writes).toEqual([])
  })
})
