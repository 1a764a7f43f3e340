import { LIVENESSPROBE, SIDECARS, SIDECARS_ON_REQUEST } from '@csi-sidecars/sidecars'
import { FACTS } from '@csi-sidecars/sidecars/facts'
import { describe, expect, it } from '@jest/globals'
import { effectiveFlags } from './flags/check-flags.ts'
import { neededRights } from './rights/needed.ts'
import { KNOWN_SIDECARS, SIDECAR_NAMES } from './sidecars.ts'

const APPS = [...SIDECARS, ...SIDECARS_ON_REQUEST]
const NO_FLAGS = effectiveFlags([], new Map())

describe('the sidecars that the command knows', () => {
  it('the list has every sidecar of the combined process, in its order', () => {
    expect(SIDECAR_NAMES).toEqual([...APPS.map(({ app }) => app), LIVENESSPROBE.prefix])
  })

  it.each(APPS)('the flags, gates and versions of the $app are those of its executable', ({ app, value }) => {
    const { prefix, flags, gates, original, replaces, image, syntax } = KNOWN_SIDECARS[app]
    expect({ prefix, flags, gates, replaces: `${original} ${replaces}`, image, syntax }).toEqual({
      prefix: value.prefix,
      flags: value.flags,
      gates: value.gates,
      replaces: value.replaces,
      image: value.name,
      syntax: value.start?.flagSyntax ?? 'flag',
    })
  })

  it('the flags and the version of the livenessprobe are those of its app', () => {
    const { flags, usedStandardFlags, original, replaces } = KNOWN_SIDECARS.livenessprobe
    expect({ flags, usedStandardFlags, replaces: `${original} ${replaces}` }).toEqual({
      flags: LIVENESSPROBE.flags,
      usedStandardFlags: LIVENESSPROBE.usedStandardFlags,
      replaces: LIVENESSPROBE.replaces,
    })
  })

  it.each(APPS)('the plan asks for no right of the $app that the charts of drivers do not grant', ({ app }) => {
    const { rules } = FACTS[app]
    const granted = (group: string, resource: string): readonly string[] =>
      rules.flatMap((rule) =>
        rule.apiGroups.includes(group) && rule.resources.includes(resource) ? [...rule.verbs] : [],
      )
    const asked = neededRights(app, NO_FLAGS, { namespace: 'storage' }).filter(({ resource }) => resource !== 'events')
    const notGranted = asked.filter(({ group, resource, verbs, onlyFor }) => {
      const grantedVerbs = granted(group, resource)
      return onlyFor === undefined && !verbs.every((verb) => grantedVerbs.includes(verb))
    })
    expect(asked.length).toBeGreaterThan(0)
    expect(notGranted.filter(({ resource }) => !(app === 'resizer' && resource === 'csinodes'))).toEqual([])
  })
})
