import { FakeClock } from '@csi-sidecars/base/testing'
import type { KubeClient } from '@csi-sidecars/kube-client'
import { expect, test } from '@jest/globals'
import { Reviews } from './reviews.ts'
import { ScriptedReviews } from './testing/scripted-reviews.ts'

/** Reviews that are all answered with this status. */
function answered(status: object): Reviews {
  const { client } = new ScriptedReviews({})
  const create: KubeClient['create'] = async (_, review) => ({ ...review, status })
  return new Reviews(new FakeClock(), () => ({ ...client, create }))
}

test.each([
  [{ authenticated: true, user: { username: 'a' } }, { username: 'a' }],
  [{ authenticated: false, user: { username: 'a' } }, undefined],
  [{ user: { username: 'a' } }, undefined],
  [{ authenticated: true, user: {} }, undefined],
  [{ authenticated: true }, undefined],
  [{}, undefined],
])('a token review that says %j is about %j', async (status, user) => {
  expect(await answered(status).userOf('token')).toEqual(user)
})

test.each([
  [{ allowed: true }, true],
  [{ allowed: true, denied: false }, true],
  [{ allowed: true, denied: true }, false],
  [{ allowed: false }, false],
  [{}, false],
])('an access review that says %j allows: %p', async (status, allows) => {
  expect(await answered(status).allows({ username: 'a' }, 'get', '/metrics')).toBe(allows)
})

test('the right of one user is not that of another with its name, but other groups', async () => {
  const api = new ScriptedReviews({}, () => true)
  const reviews = new Reviews(new FakeClock(), () => api.client)
  await reviews.allows({ username: 'a', groups: ['x'] }, 'get', '/metrics')
  await reviews.allows({ username: 'a', groups: ['y'] }, 'get', '/metrics')
  expect(api.asked).toHaveLength(2)
})
