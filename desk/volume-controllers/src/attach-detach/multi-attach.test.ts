import { describe, expect, it } from '@jest/globals'
import { multiAttachText } from './reconcile.ts'

const ref = (key: string) => ({ key, uid: `uid of ${key}`, resourceVersion: '1' })

describe('multiAttachText', () => {
  it.each([
    [[], "Volume is already exclusively attached to one node and can't be attached to another"],
    [['a/one', 'a/two'], 'Volume is already used by pod(s) one, two'],
    [['b/one'], 'Volume is already used by 1 pod(s) in different namespaces'],
    [['a/one', 'b/two', 'c/three'], 'Volume is already used by pod(s) one and 2 pod(s) in different namespaces'],
  ])('the multi-attach event describes the other pods %j that use the volume', (users, why) => {
    const text = multiAttachText(ref('a/app'), users.map(ref), { waitingMessage: false })
    expect(text).toEqual({ text: 'Multi-Attach error', why })
  })

  it('the multi-attach event names the pods in alphabetical order, in whichever order they came', () => {
    const users = ['a/two', 'b/other', 'a/one', 'a/three']
    const { why } = multiAttachText(ref('a/app'), users.map(ref), { waitingMessage: false })
    expect(why).toBe('Volume is already used by pod(s) one, three, two and 1 pod(s) in different namespaces')
  })

  it.each([
    [
      [],
      'Volume is already exclusively attached to one node, waiting on detach before it can be attached to another node',
    ],
    [['a/one'], 'Volume is already used by pod(s) one'],
  ])('the multi-attach event of Kubernetes 1.37 mentions the awaited detach, and the other pods %j', (users, why) => {
    const text = multiAttachText(ref('a/app'), users.map(ref), { waitingMessage: true })
    expect(text).toEqual({ text: 'Waiting for detach', why })
  })
})
