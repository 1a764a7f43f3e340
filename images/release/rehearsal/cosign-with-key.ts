import { execFileSync } from 'node:child_process'
import { Cosign } from '../cosign.ts'

/** cosign 3 with a key of its own in a folder, without any service outside of this machine. */
export function cosignWithKey(program: string, folder: string): Cosign {
  // It asks for a password where the environment has none.
  process.env['COSIGN_PASSWORD'] = ''
  execFileSync(program, ['generate-key-pair'], { cwd: folder, stdio: 'ignore' })
  return new Cosign({
    program,
    signing: ['--key', `${folder}/cosign.key`, '--use-signing-config=false', '--tlog-upload=false'],
    verifying: ['--key', `${folder}/cosign.pub`, '--insecure-ignore-tlog', '--private-infrastructure'],
    registry: ['--allow-http-registry'],
  })
}
