import { createServer, type Server } from 'node:https'
import type { SecureContextOptions } from 'node:tls'
import type { Clock } from '@csi-sidecars/base'
import type { Logger } from '@csi-sidecars/telemetry'
import type { SecureFactory } from '../listener.ts'
import { authoritiesSource, type KeyPair, keyPairSource, ReloadingFile, selfSignedSource } from './certificates.ts'
import type { TlsSettings } from './settings.ts'

/** The time limit of a handshake. */
const HANDSHAKE_TIMEOUT_MS = 5_000
/** The pause between two reads of the files. The kubelet needs up to a minute to update them after a Secret changes. */
const READ_INTERVAL_MS = 5_000
/**
 * Disables tickets, so that each handshake verifies the certificates against the current authorities. The value is
 * OpenSSL's `SSL_OP_NO_TICKET`.
 */
const NO_TICKETS = 1 << 14

/** Everything that the reading of certificates needs. A self-signed certificate is for `hostName`. */
export interface TlsOptions {
  readonly clock: Clock
  readonly log: Logger
  readonly hostName: string
}

/** The TLS layer of a server, which reads its files again when they change. */
export interface Tls {
  readonly create: SecureFactory
  stop(): void
}

/** Reads certificate, key and authorities. Throws if one of them cannot be used. */
export async function openTls(settings: TlsSettings, options: TlsOptions): Promise<Tls> {
  const { clock, log, hostName } = options
  const { pair: files, clientCaFile } = settings
  const source = files === undefined ? selfSignedSource(clock, hostName) : keyPairSource(files.certFile, files.keyFile)
  const pair = await ReloadingFile.open(source, log)
  const authorities =
    clientCaFile === undefined ? undefined : await ReloadingFile.open(authoritiesSource(clientCaFile), log)
  const contextOptions = (): SecureContextOptions => contextOf(settings, pair.value, authorities?.value)
  let server: Server | undefined
  const readFiles = async (): Promise<void> => {
    const changed = await Promise.all([pair.reload(), authorities?.reload()])
    if (changed.includes(true)) server?.setSecureContext(contextOptions())
  }
  const again = repeat(clock, readFiles)
  return {
    create: (limits, answer) => {
      const asks = authorities !== undefined
      const handshakes = { handshakeTimeout: HANDSHAKE_TIMEOUT_MS, requestCert: asks, rejectUnauthorized: false }
      server = createServer({ ...limits, ...contextOptions(), ...handshakes }, answer)
      return server
    },
    stop: again.stop,
  }
}

function contextOf(settings: TlsSettings, pair: KeyPair, authorities: string | undefined): SecureContextOptions {
  const { minVersion, ciphers } = settings
  return {
    ...pair,
    minVersion,
    ciphers,
    secureOptions: NO_TICKETS,
    ...(authorities !== undefined && { ca: authorities }),
  }
}

/** Calls `call` again and again, with a pause before each call, until `stop` is called. */
function repeat(clock: Clock, call: () => Promise<void>): { stop(): void } {
  let stopped = false
  let cancel = (): void => undefined
  const arm = (): void => {
    if (!stopped) cancel = clock.schedule(READ_INTERVAL_MS, () => void call().finally(arm))
  }
  arm()
  return {
    stop: () => {
      stopped = true
      cancel()
    },
  }
}
