import { expect, it } from '@jest/globals'
import { hierarchiesIn, weightOf } from './cgroups.ts'

const V1 = ['cpu,cpuacct', 'cpuset', 'memory', 'pids', 'devices']
const mount = (name: string): string => `cgroup /sys/fs/cgroup/${name} cgroup rw,relatime,${name} 0 0`
const UNIFIED = 'cgroup2 /sys/fs/cgroup/unified cgroup2 rw,relatime 0 0'
const controllers = (): string => 'cpuset cpu io memory hugetlb pids rdma\n'

it('a machine with cgroup v1 has a hierarchy for each controller and each name', () => {
  const systemd = 'cgroup /sys/fs/cgroup/systemd cgroup rw,xattr,name=systemd 0 0'
  const found = hierarchiesIn([...V1.map(mount), systemd].join('\n'), controllers)
  expect(found).toEqual({
    kind: 'v1',
    folders: [
      ...V1.map((options) => ({ folder: `/sys/fs/cgroup/${options}`, options })),
      { folder: '/sys/fs/cgroup/systemd', options: 'none,name=systemd' },
    ],
  })
})

it('a hybrid machine has its controllers in v1', () => {
  expect(hierarchiesIn([...V1.map(mount), UNIFIED].join('\n'), () => 'hugetlb')?.kind).toBe('v1')
})

it('a machine with cgroup v2 has a single hierarchy', () => {
  const mounts = 'cgroup2 /sys/fs/cgroup cgroup2 rw,nosuid 0 0'
  expect(hierarchiesIn(mounts, controllers)).toEqual({ kind: 'v2', folder: '/sys/fs/cgroup' })
})

it.each([
  ['no cgroup is mounted', 'proc /proc proc rw 0 0', controllers],
  [
    'v1 has no controller pids',
    V1.filter((name) => name !== 'pids')
      .map(mount)
      .join('\n'),
    controllers,
  ],
  ['v2 has no controller memory', UNIFIED, () => 'cpu cpuset pids'],
])('a machine on which %s is refused', (_, mounts, v2Controllers) => {
  expect(hierarchiesIn(mounts, v2Controllers)).toBeUndefined()
})

it.each([
  [2, 1],
  [1024, 39],
  [262_144, 10_000],
])('%d shares of v1 are the weight %d of v2', (shares, weight) => {
  expect(weightOf(shares)).toBe(weight)
})
