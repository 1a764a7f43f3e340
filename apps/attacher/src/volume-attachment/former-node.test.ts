import { CODES, RpcError } from '@csi-sidecars/csi'
import { beforeEach, describe, expect, it } from '@jest/globals'
import { deleting, ReconcileFixture, va } from '../testing/reconcile-fixture.ts'
import { sharedListing } from './former-node.ts'

const OLD = { 'csi.alpha.kubernetes.io/node-id': 'old-id' }
const UNPUBLISH = 'unpublish handle-1 node1-id {}'
const UNPUBLISH_OLD = 'unpublish handle-1 old-id {}'

describe('a detach from a node that has another id now', () => {
  let fixture: ReconcileFixture
  beforeEach(() => {
    fixture = new ReconcileFixture()
    fixture.listsPublishedNodes = true
    fixture.listed = () => new Map([['handle-1', new Set(['old-id'])]])
    fixture.api.put(deleting({ annotations: OLD }))
  })

  it('goes to the former id too, while the driver still lists it', async () => {
    expect(await fixture.run()).toEqual({ kind: 'settled' })
    expect(fixture.calls).toEqual([UNPUBLISH, 'list', UNPUBLISH_OLD])
  })

  it('is done where the driver knows the former node no more', async () => {
    fixture.unpublish = async ({ nodeId }) => {
      if (nodeId === 'old-id') throw new RpcError(CODES.NotFound, 'no such node')
    }
    expect(await fixture.run()).toEqual({ kind: 'settled' })
  })

  it('is repeated where the former id is refused', async () => {
    fixture.unpublish = async ({ nodeId }) => {
      if (nodeId === 'old-id') throw new RpcError(CODES.Internal, 'no')
    }
    expect(await fixture.run()).toMatchObject({ kind: 'retry' })
  })

  it.each<[string, (fixture: ReconcileFixture) => void, string[]]>([
    [
      'the driver cannot list',
      (each) => {
        each.listsPublishedNodes = false
      },
      [UNPUBLISH],
    ],
    [
      'the driver does not list it',
      (each) => {
        each.listed = () => new Map()
      },
      [UNPUBLISH, 'list'],
    ],
    [
      'the listing fails',
      (each) => {
        each.listed = () => {
          throw new Error('no')
        }
      },
      [UNPUBLISH, 'list'],
    ],
    [
      'another node has the id',
      (each) => {
        each.nodes.push({ key: 'node2', uid: 'n', resourceVersion: '1', nodeId: 'old-id' })
      },
      [UNPUBLISH],
    ],
    [
      'another attachment of the volume has it',
      (each) => {
        const other = va({ metadata: { name: 'va2', uid: 'va2-uid', annotations: OLD } })
        each.api.put({ ...other, spec: { ...other.spec, nodeName: 'node2' } } as never)
      },
      [UNPUBLISH],
    ],
  ])('leaves the former id alone where %s', async (_, change, calls) => {
    change(fixture)
    expect(await fixture.run()).toEqual({ kind: 'settled' })
    expect(fixture.calls).toEqual(calls)
  })

  it('knows the former id that an attach to the new one has replaced', async () => {
    fixture.api.put(va({ metadata: { annotations: OLD } }))
    await fixture.run()
    fixture.api.put(deleting())
    await fixture.run()
    expect(fixture.calls.slice(1)).toEqual([UNPUBLISH, 'list', UNPUBLISH_OLD])
  })
})

it('a listing is shared by all who ask while another one is under way', async () => {
  const gates = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  let sent = 0
  const listing = sharedListing(async () => {
    sent += 1
    await gates[sent - 1]?.promise
    return new Map()
  })
  const { signal } = new AbortController()
  const first = listing(signal)
  await Promise.resolve()
  await Promise.resolve()
  const others = [listing(signal), listing(signal)]
  gates[0]?.resolve()
  await first
  gates[1]?.resolve()
  await Promise.all(others)
  expect(sent).toBe(2)
})
