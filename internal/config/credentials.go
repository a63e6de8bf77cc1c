package config

// credentials checks a name and a password for an origin, and returns the password. ok is
// false if only one of the two is set.
func (k *checker) credentials(path, name, env, file string) (password string, ok bool) {
	password = k.secret(path, "password", env, file)
	switch given := env != "" || file != ""; {
	case name != "" && !given:
		k.failf(path+".username", "lacks a password: name an environment variable in password_env or a file in password_file")
	case name == "" && given:
		k.failf(path, `lacks "username": a password without a user has no effect`)
	default:
		ok = true
	}
	return password, ok
}
