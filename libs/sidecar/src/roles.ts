import { type Backlog, runTerm } from '@csi-sidecars/controller'
import type { Driver } from '@csi-sidecars/csi'
import type { ClusterConfig, KubeClient } from '@csi-sidecars/kube-client'
import type { QueueMetrics } from '@csi-sidecars/workqueue'
import type { Boot } from './boot.ts'
import { leaseIdentity, leaseName, leaseNamespace } from './lease-name.ts'
import { failingFor } from './member.ts'
import { OtherLeases } from './other-leases.ts'
import type { Chosen, Plan } from './plan.ts'
import { restarting } from './restart.ts'
import { identified } from './runs.ts'
import type { Role } from './service.ts'
import { electorOf, kubeClient } from './steps.ts'

interface RoleParts {
  readonly config: ClusterConfig
  readonly driver: Driver
  readonly chosen: readonly Chosen[]
  readonly queues: QueueMetrics
  readonly backlog: Backlog
}

/** Each app stands for the Lease of its Go original, so that it may live beside originals; or all for a single one. */
export async function rolesOf(boot: Boot, { singleLease, members }: Plan, parts: RoleParts): Promise<readonly Role[]> {
  let made: KubeClient | undefined
  const client = (): KubeClient => {
    made ??= kubeClient(boot, parts.config)
    return made
  }
  if (singleLease !== undefined && singleLease !== '') return [await roleOfAll(boot, singleLease, { ...parts, client })]
  const several = parts.chosen.length > 1
  return await Promise.all(
    parts.chosen.map(async ({ member, log, controllers }): Promise<Role> => {
      const { clock } = boot
      const { driver, queues, backlog } = parts
      const name = leaseName(member.lease.prefix, driver.name)
      const component = member.lease.component(driver.name)
      const election = { client, standard: member.standard, name, component, named: several, log }
      return {
        name: member.name,
        elector: await electorOf(boot, election).catch(failingFor({ member, members })),
        lead: (lead) => runTerm(lead, identified(boot, driver, controllers(lead)), { clock, driver, queues, backlog }),
      }
    }),
  )
}

async function roleOfAll(
  boot: Boot,
  name: string,
  parts: RoleParts & { readonly client: () => KubeClient },
): Promise<Role> {
  const { clock, log, standard, host } = boot
  const { driver, chosen, queues, backlog, client } = parts
  const elector = await electorOf(boot, { client, standard, name, component: boot.name, named: true, log })
  if (elector === undefined) throw new Error('a single lease without leader election')
  const { values } = standard
  const others = new OtherLeases({
    client: client(),
    namespace: await leaseNamespace({ flag: values['leader-election-namespace'], env: host.env }),
    names: chosen.map(({ member }) => leaseName(member.lease.prefix, driver.name)),
    identity: leaseIdentity(host.hostName),
    periodMs: values['leader-election-retry-period'],
    leaseDurationMs: values['leader-election-lease-duration'],
    clock,
    log,
  })
  return {
    name: boot.name,
    elector,
    eligible: (signal) => others.whenFree(signal),
    waits: others.waits,
    lead: async (lead) => {
      const { stop } = lead
      const terms = chosen.map(({ member, log: own, controllers }) => {
        const run = (): Promise<void> =>
          runTerm(lead, identified(boot, driver, controllers(lead)), { clock, driver, queues, backlog })
        return restarting(run, { name: member.name, clock, log: own, stop })
      })
      await Promise.all([...terms, others.watch(stop)])
    },
  }
}
