import { describe, expect, it } from '@jest/globals'
import { KNOWN_SIDECARS, type SidecarName } from '../sidecars.ts'
import { argumentsOf } from './arguments.ts'
import { checkFlags, effectiveFlags, tableOf } from './check-flags.ts'

const check = (sidecar: SidecarName, line: string, variables: Record<string, string> = {}) =>
  checkFlags(KNOWN_SIDECARS[sidecar], line.split(' '), new Map(Object.entries(variables)))

describe('the arguments of a command line', () => {
  it.each<[SidecarName, string, readonly (readonly string[])[]]>([
    [
      'attacher',
      '--timeout=1m -timeout 2m --leader-election -v 5',
      [['--timeout=1m'], ['-timeout', '2m'], ['--leader-election'], ['-v', '5']],
    ],
    ['provisioner', '-v5 word --timeout=1m', [['-v5'], ['word'], ['--timeout=1m']]],
    ['attacher', '--leader-election word --timeout=1m', [['--leader-election'], ['word'], ['--timeout=1m']]],
    [
      'provisioner',
      '--provisioner csi.example.com --timeout=1m',
      [['--provisioner', 'csi.example.com'], ['--timeout=1m']],
    ],
    ['attacher', '--log_dir /tmp --timeout=1m', [['--log_dir', '/tmp'], ['--timeout=1m']]],
    ['attacher', '--logtostderr --timeout=1m', [['--logtostderr'], ['--timeout=1m']]],
    ['provisioner', '--timeout=1m -- rest', [['--timeout=1m'], ['--'], ['rest']]],
  ])('the %s splits %s', (sidecar, line, expected) => {
    const knownSidecar = KNOWN_SIDECARS[sidecar]
    const found = argumentsOf(line.split(' '), { table: tableOf(knownSidecar), syntax: knownSidecar.syntax })
    expect(found.map(({ written }) => written)).toEqual(expected)
  })
})

describe('the check of flags', () => {
  it.each<[SidecarName, string, string]>([
    ['attacher', '--timeout=15s', '--timeout=15s'],
    ['attacher', '--workers=3', '--workers=3'],
    ['provisioner', '-v5', '-v5'],
    ['provisioner', '--strict-topology', '--strict-topology'],
    ['attacher', '--csi-address=$(ADDRESS)', '--csi-address=$(ADDRESS)'],
    ['livenessprobe', '--probe-timeout=3s', '--probe-timeout=3s'],
  ])('the %s keeps %s', (sidecar, line, kept) => {
    expect(check(sidecar, line)).toMatchObject({ kept: [kept], warned: [], refused: [], accepted: line.split(' ') })
  })

  it.each<[SidecarName, string, string]>([
    ['resizer', '--csiTimeout=1m', '--csiTimeout was removed, and is read as --timeout'],
    [
      'provisioner',
      '--enable-leader-election',
      '--enable-leader-election was removed, and is read as --leader-election',
    ],
    ['provisioner', '--leader-election-type=leases', 'the flag was removed, and has no effect'],
    [
      'resizer',
      '--feature-gates=RecoverVolumeExpansionFailure=false',
      'turning off this feature gate has no effect, it is always on',
    ],
    ['provisioner', '--feature-gates=Topology=true', 'setting GA feature gate. It will be removed in a future release'],
    ['provisioner', 'word', 'it is no flag, and has no effect'],
  ])('the %s accepts %s with a warning', (sidecar, line, why) => {
    expect(check(sidecar, line)).toMatchObject({
      kept: [],
      warned: [{ argument: line, why }],
      refused: [],
      accepted: line.split(' '),
    })
  })

  it.each<[SidecarName, string, string]>([
    ['attacher', '--logtostderr', 'the current Go sidecar does not know it either'],
    ['attacher', '--timeout=soon', 'invalid value "soon" for flag -timeout: parse error'],
    ['attacher', '--feature-gates=Topology=true', 'unrecognized feature gate: Topology'],
    ['livenessprobe', '--leader-election', 'the current Go sidecar does not know it either'],
  ])('the %s refuses %s, and the plan removes it', (sidecar, line, why) => {
    expect(check(sidecar, line)).toMatchObject({
      kept: [],
      warned: [],
      refused: [{ argument: line, why }],
      accepted: [],
    })
  })

  it('a refused gate is removed, and the other gates of the argument stay', () => {
    const checked = check('provisioner', '--feature-gates=Topology=false,Gone=true')
    expect(checked.refused).toEqual([{ argument: '--feature-gates=Gone=true', why: 'unrecognized feature gate: Gone' }])
    expect(checked.accepted).toEqual(['--feature-gates=Topology=false'])
  })

  it('a value that comes from a variable of the manifest is checked, and one of the running pod is not', () => {
    expect(check('attacher', '--timeout=$(T)', { T: 'soon' }).refused).toHaveLength(1)
    expect(check('attacher', '--timeout=$(T)').refused).toEqual([])
    expect(check('attacher', '--timeout=$$(T)').refused).toHaveLength(1)
  })

  it('the last value of a flag counts, aliases are the same flag, and gates of several flags are merged', () => {
    const { flags } = check(
      'attacher',
      '--workers=1 --worker-threads=$(N) --feature-gates=MutableCSINodeAllocatableCount=false',
    )
    const effective = effectiveFlags(flags, new Map([['N', '7']]))
    expect(effective.values.get('worker-threads')).toBe('7')
    expect([...effective.gates]).toEqual([['MutableCSINodeAllocatableCount', false]])
  })
})
