import { parseFlags } from '@csi-sidecars/sidecar'
import { describe, expect, it } from '@jest/globals'
import { APPS, type AppName, FLAG_TABLES } from '../tools/flag-keys.ts'
import { render } from './helm.ts'
import { ofKind, podSpecs, sidecar } from './manifest.ts'
import { merged, readValues, VALUES_FILE, validator } from './values.ts'
import { VENDOR_VALUES } from './vendor-values.ts'
import { VENDORS, type Vendor } from './vendors.ts'
import { withHelm } from './with-helm.ts'

const REGISTRY = { image: { registry: 'registry.example.com/storage' } }

/** Returns the argument with the variables replaced, as in the vendor's container. */
function expanded(argument: string, { address = '' }: Vendor): string {
  return argument.replace('$(ADDRESS)', address).replace('$(POD_IP)', '').replace('$(POD_NAMESPACE)', 'storage')
}

/** Returns the parsed values of the arguments, so that different spellings of a value are equal. */
function meaning(app: AppName, args: readonly string[]): Readonly<Record<string, unknown>> {
  const parsed = parseFlags(FLAG_TABLES[app], args)
  if (parsed.kind !== 'flags') throw new Error(JSON.stringify(parsed))
  const values: Readonly<Record<string, unknown>> = parsed.flags.values
  return {
    ...values,
    'csi-address': String(values['csi-address']).replace('unix://', ''),
    // An empty namespace means the namespace of the pod.
    'leader-election-namespace': values['leader-election-namespace'] || 'storage',
  }
}

withHelm('vendor values', () => {
  describe.each(VENDORS)('the vendor $name', (vendor) => {
    const values = merged(REGISTRY, VENDOR_VALUES[vendor.name] ?? {})
    const objects = render({ values })
    const apps = APPS.filter((app) => vendor.args[app] !== undefined)

    it("the schema of our chart accepts the vendor's values", () => {
      const validate = validator()
      expect(validate(merged(readValues(VALUES_FILE), values)) || validate.errors).toBe(true)
    })

    it('our chart runs exactly the sidecars that the vendor runs', () => {
      const names = podSpecs(objects).flatMap(({ containers }) => containers.map(({ name }) => name))
      expect(names.filter((name) => name !== 'driver')).toEqual(apps.map((app) => `csi-${app}`))
    })

    it.each(apps)('our chart gives the %s the same flag values as the vendor', (app) => {
      const theirs = (vendor.args[app] ?? []).map((argument) => expanded(argument, vendor))
      expect(meaning(app, sidecar(objects, app).args ?? [])).toEqual(meaning(app, theirs))
    })

    it.each(apps)('our chart grants the %s no permission that the vendor does not grant', (app) => {
      const { rules = [] } = ofKind(objects, 'ClusterRole').find(({ metadata }) => metadata.name.includes(app)) ?? {}
      const lacking = rules.flatMap(({ apiGroups = [], resources = [], verbs }) =>
        resources.filter((resource) => !grants(vendor, { group: apiGroups[0] ?? '', resource }, verbs ?? [])),
      )
      expect(lacking.filter((resource) => !vendor.lacks?.includes(resource))).toEqual([])
    })
  })

  it('our chart renders pods with the host network and the DNS policy of the vendor', () => {
    const pod = (vendor: string) => podSpecs(render({ values: merged(REGISTRY, VENDOR_VALUES[vendor] ?? {}) }))[0]
    expect(pod('azuredisk')).toMatchObject({ hostNetwork: true, dnsPolicy: 'ClusterFirst' })
    expect(pod('nfs')).toMatchObject({ hostNetwork: true, dnsPolicy: 'ClusterFirstWithHostNet' })
    expect(pod('vsphere')).toMatchObject({ dnsPolicy: 'Default' })
  })
})

function grants(
  { rules }: Vendor,
  { group, resource }: { group: string; resource: string },
  verbs: readonly string[],
): boolean {
  return rules.some(
    (rule) =>
      rule.apiGroups?.includes(group) === true &&
      rule.resources?.includes(resource) === true &&
      verbs.every((verb) => rule.verbs?.some((each) => each === '*' || each === verb)),
  )
}
