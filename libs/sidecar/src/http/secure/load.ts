import type { StandardValues } from '../../flags/flag-checks.ts'
import type { StartContext } from '../../process.ts'
import { failing } from '../../start-error.ts'
import type { Security } from './open.ts'

/** Loads the code of secure serving. Returns undefined if no flag requests it. Throws StartError. */
export async function loadSecurity(context: StartContext): Promise<Security | undefined> {
  if (!asksForSecurity(context.standard.values)) return undefined
  const { openSecurity } = await import('./open.ts')
  return await openSecurity(context).catch(failing('Secure serving configuration is invalid'))
}

function asksForSecurity(values: StandardValues): boolean {
  const texts = [
    'client-ca-file',
    'tls-cert-file',
    'tls-cipher-suites',
    'tls-min-version',
    'tls-private-key-file',
  ] as const
  return values['authorize-metrics'] || values['tls-self-signed'] || texts.some((flag) => values[flag] !== '')
}
