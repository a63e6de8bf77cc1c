# Made by make release, which fills in the version and the checksums.
class Kasoku < Formula
  desc "Caching accelerator in front of NoSQL-backed HTTP APIs"
  homepage "https://github.com/kasoku/kasoku"
  version "{{.Version}}"
  license "Apache-2.0"

{{- range .Systems}}

  on_{{.OS}} do
{{- range .Archives}}
    on_{{.CPU}} do
      url "https://github.com/kasoku/kasoku/releases/download/v{{$.Version}}/{{.Name}}"
      sha256 "{{.Sum}}"
    end
{{- end}}
  end
{{- end}}

  def install
    bin.install "kasoku"
    man1.install "man/kasoku.1"
    bash_completion.install "completions/kasoku.bash" => "kasoku"
    zsh_completion.install "completions/_kasoku"
    fish_completion.install "completions/kasoku.fish"
  end

  service do
    run [opt_bin/"kasoku", "serve"]
    working_dir var/"kasoku"
    keep_alive true
  end

  test do
    assert_match version.to_s, shell_output("#{bin}/kasoku version")
  end
end
