import { FakeClock } from '@csi-sidecars/base/testing'
import { createInProcessServer } from '@csi-sidecars/emulator'
import { ApiError, apiErrorOf } from '@csi-sidecars/kube-client'
import { PODS, type Pod } from '@csi-sidecars/kube-types'
import { InProcessClient, pod } from '@csi-sidecars/testkit'
import { describe, expect, it } from '@jest/globals'
import { type PodProxy, withProxy } from '../testing/client.ts'
import { ATTACHER_LEASE, lease, RESIZER_LEASE } from '../testing/facts.ts'
import { collectPending, listenerOf } from './collect-pending.ts'
import type { SidecarContainer } from './collect-sidecars.ts'
import { collectSidecarPods } from './collect-sidecars.ts'
import { FactCollection } from './collection.ts'
import { ApiReader } from './reader.ts'

const container = (name: string, args: readonly string[]): SidecarContainer => ({
  name,
  image: 'none',
  args,
})
const leader = (...containers: ReturnType<typeof container>[]) =>
  pod('pod-a', { metadata: { namespace: 'storage' }, spec: { containers, volumes: null } })
const ATTACHER = container('csi-attacher', ['--v=2', '--http-endpoint=:8080'])
const PROXY = '/api/v1/namespaces/storage/pods/pod-a:8080/proxy/debug/stuck'
const item = (name: string) => ({ sidecar: 'external-attacher', object: { kind: 'VolumeAttachment', name } })

interface Setup {
  readonly proxy?: PodProxy
  readonly pods?: readonly Pod[]
  readonly leases?: readonly ReturnType<typeof lease>[]
}

async function asked({ proxy, pods = [leader(ATTACHER)], leases = [lease(ATTACHER_LEASE)] }: Setup) {
  const clock = new FakeClock()
  const server = createInProcessServer({ clock })
  for (const each of pods) server.create(PODS, each)
  const api = withProxy(new InProcessClient(server, { errorOf: apiErrorOf }), proxy)
  const { signal } = new AbortController()
  const into = new FactCollection(new ApiReader(api.client, signal))
  into.leases = leases
  await collectSidecarPods(into, 'holders')
  await collectPending(into, clock, signal)
  return { names: into.pending.map(({ name }) => name), unseen: into.reader.unseen, paths: api.asked }
}

describe('collectPending', () => {
  it("the pending work of a leader is read through the API server's proxy to its pod, page by page", async () => {
    const proxy: PodProxy = (query) =>
      query.get('continue') === null
        ? { items: [item('a')], continue: 'n&xt' }
        : { items: [item(`b of ${query.get('continue')}`)] }
    expect(await asked({ proxy })).toEqual({
      names: ['a', 'b of n&xt'],
      unseen: [],
      paths: [`${PROXY}?limit=500`, `${PROXY}?limit=500&continue=n%26xt`],
    })
  })

  it('the pending work of a process that leads for the attacher and the resizer is read once', async () => {
    const both = leader(container('csi-sidecars', ['--http-endpoint=:8080']))
    const proxy: PodProxy = () => ({ items: [item('a')] })
    const { names, paths } = await asked({
      proxy,
      pods: [both],
      leases: [lease(ATTACHER_LEASE), lease(RESIZER_LEASE)],
    })
    expect([names, paths.length]).toEqual([['a'], 1])
  })

  it.each<[string, Setup, string]>([
    ['a leader that is no pod', { pods: [] }, 'its leader pod-a is no pod of namespace storage that could be read'],
    [
      'a sidecar without an HTTP endpoint',
      { pods: [leader(container('csi-attacher', []), container('other', ['--http-endpoint=:1']))] },
      'pod storage/pod-a has no container of it with --http-endpoint',
    ],
    [
      'a Go sidecar',
      {
        proxy: () => {
          throw new ApiError({ code: 404, reason: 'NotFound', message: '404 page not found' })
        },
      },
      'its endpoint has no such path, as those of the Go sidecars',
    ],
    [
      'a proxy that may not be used',
      {
        proxy: () => {
          throw new ApiError({ code: 403, reason: 'Forbidden', message: 'pods "pod-a:8080" is forbidden' })
        },
      },
      'pods "pod-a:8080" is forbidden',
    ],
    ['an unexpected answer', { proxy: () => ({ kind: 'x' }) }, 'its answer is no list of pending work'],
    [
      'pages without an end',
      { proxy: () => ({ items: [], continue: 'more' }) },
      'it has more than 40 pages of pending work, the rest was not read',
    ],
  ])('the pending work counts as not seen for %s', async (_, setup, why) => {
    const { unseen } = await asked(setup)
    expect(unseen).toEqual([{ what: `/debug/stuck of ${ATTACHER_LEASE}`, why, essential: false }])
  })

  it('no pending work is read for a Lease without a holder, or for the Lease of another program', async () => {
    const leases = [lease(ATTACHER_LEASE, { holder: '' }), lease('other-leader-x')]
    expect(await asked({ leases })).toEqual({ names: [], unseen: [], paths: [] })
  })
})

it.each([
  ['--http-endpoint=:8080', 'pod-a:8080'],
  ['-http-endpoint=0.0.0.0:9', 'pod-a:9'],
  ['--http-endpoint [::]:8081', 'pod-a:8081'],
  ['--http-endpoint=:8080 --tls-cert-file=/x', 'https:pod-a:8080'],
  ['--metrics-address=:8080', undefined],
])('the container arguments %s lead to the endpoint %s', (args, expected) => {
  expect(listenerOf(leader(container('csi-resizer', args.split(' '))), RESIZER_LEASE)).toBe(expected)
})
